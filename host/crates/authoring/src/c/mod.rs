//! C: the compiler of `ziglang` makes one module of the SDK, the bindings and the author's files.

mod dependencies;

use crate::command::{self, step};
use crate::component::module::{self, World};
use crate::environment::BuildEnvironment;
use crate::project::Project;
use crate::toolchain;
use anyhow::{Context, bail, ensure};
use dependencies::Dependency;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The prefix of the generated types, and the name of the generated files.
const PREFIX: &str = "pcwit";

/// What a plugin may offer, and the macro with which it does.
const OFFERS: [(&str, &str); 5] = [
    ("tools", "PC_TOOLS("),
    ("resources", "PC_RESOURCES("),
    ("prompts", "PC_PROMPTS("),
    ("completions", "PC_COMPLETIONS("),
    ("reconcile", "PC_RECONCILE("),
];

pub(crate) fn build(project: &Project, environment: &BuildEnvironment) -> anyhow::Result<Vec<u8>> {
    let others = dependencies::read(&project.folder, environment)?;
    let python = toolchain::c(environment)?;
    let (work, sdk) = (project.work(), project.work().join("c"));
    let authors = sources(&project.folder, |name| name != "test")?;
    let exports = offers(&authors)?;
    ensure!(
        !exports.is_empty(),
        "{} offers nothing: write PC_TOOLS(...), PC_RESOURCES(...) or PC_PROMPTS(...)",
        project.folder.display()
    );
    let mut world = World::write(&work.join("wit"), &exports)?;
    let generated = work.join("bindings");
    let options = wit_bindgen_c::Opts { rename_world: Some(PREFIX.to_owned()), ..Default::default() };
    world.bind(options.build(), &generated, ToOwned::to_owned)?;
    let mut files = [".c", "_component_type.o"].map(|end| generated.join(format!("{PREFIX}{end}"))).to_vec();
    let is_offer = |name: &str| OFFERS.iter().any(|(offer, _)| *offer == name);
    files.extend(sources(&sdk.join("src"), |name| !is_offer(name) || exports.iter().any(|export| export == name))?);
    for folder in ["src/data", "src/shared"] {
        files.extend(sources(&sdk.join(folder), |_| true)?);
    }
    files.extend(authors);
    let module = work.join("module.wasm");
    let mut zig = compiler(&python);
    zig.args(["-mexec-model=reactor", "-std=c17", "-Wall", "-Wextra"]);
    // In tables, authors may leave out fields that they do not need.
    zig.arg("-Wno-missing-field-initializers");
    // Code of others was written for machines with larger stacks.
    let stack = if others.is_empty() { 128 << 10 } else { 1 << 20 };
    for other in &others {
        files.extend(objects(other, &python, &work)?);
        for folder in other.include_folders() {
            zig.arg("-isystem").arg(folder);
        }
    }
    // Memory of the arena and of static tables is never freed: `free` in the bindings leaves it until the end of the call.
    zig.arg("-Dfree=pc_leave").arg("-I").arg(&generated).arg("-I").arg(sdk.join("include")).args(&files);
    zig.arg("-Wl,--strip-all").arg(format!("-Wl,-z,stack-size={stack}")).arg("-o").arg(&module);
    step("building the component", || {
        // The author should see what the compiler reports.
        let status = zig.status().context("cannot start the compiler")?;
        if !status.success() {
            bail!("the compiler could not build {}", project.folder.display());
        }
        module::component(&fs::read(&module).context("the compiler wrote no module")?)
    })
}

/// The compiler for WASI. It optimizes for speed, since fuel counts instructions.
fn compiler(python: &Path) -> Command {
    let mut zig = command::python(python);
    let cache = python.parent().unwrap_or(python).with_file_name("cache");
    zig.args(["-m", "ziglang", "cc"]).env("ZIG_GLOBAL_CACHE_DIR", &cache).env("ZIG_LOCAL_CACHE_DIR", &cache);
    zig.args(["-target", "wasm32-wasi", "-O2"]);
    zig
}

/// Compiles the files of a dependency unchanged: with the usual `free`, and without warnings, which the author cannot mend.
fn objects(other: &Dependency, python: &Path, work: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let to = work.join("objects");
    fs::create_dir_all(&to).with_context(|| format!("cannot make {}", to.display()))?;
    let compile = |(number, source): (usize, PathBuf)| {
        let object = to.join(format!("{}-{number}.o", other.name));
        let mut zig = compiler(python);
        zig.args(["-w", "-c"])
            .arg(&source)
            .arg("-o")
            .arg(&object)
            .args(other.defines.iter().map(|it| format!("-D{it}")));
        for folder in other.include_folders() {
            zig.arg("-I").arg(folder);
        }
        let status = zig.status().context("cannot start the compiler")?;
        ensure!(status.success(), "the compiler could not build {} of {}", source.display(), other.name);
        Ok(object)
    };
    step(&format!("compiling {} {}", other.name, other.version), || {
        other.source_files().into_iter().enumerate().map(compile).collect()
    })
}

/// What the files offer: each macro defines what the exports of the component need.
fn offers(files: &[PathBuf]) -> anyhow::Result<Vec<String>> {
    let read = |path: &PathBuf| fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()));
    let texts = files.iter().map(read).collect::<anyhow::Result<Vec<_>>>()?;
    let offered = |word: &str| texts.iter().any(|text| text.lines().any(|line| line.trim_start().starts_with(word)));
    Ok(OFFERS.iter().filter(|(_, word)| offered(word)).map(|(name, _)| (*name).to_owned()).collect())
}

/// The C files directly in a folder whose names are wanted, in a fixed order.
fn sources(folder: &Path, wanted: impl Fn(&str) -> bool) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        if path.extension().is_some_and(|end| end == "c") && wanted(&stem) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plugin_offers_what_it_has_macros_of() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write("a.c", "#include <portcullis.h>\n  PC_TOOLS({.name = \"a\"});\n");
        write("b.c", "/* no PC_RESOURCES(...) here */\nPC_PROMPTS(\n");
        write("test.c", "PC_RESOURCES(\n");
        write("c.h", "PC_RESOURCES(\n");
        let files = sources(folder.path(), |name| name != "test").unwrap();
        assert_eq!(files.len(), 2);
        assert_eq!(offers(&files).unwrap(), ["tools", "prompts"]);
    }
}
