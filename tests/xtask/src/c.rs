//! C: the pinned compiler, and plugins written with `guest-sdk/c`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::bindings::{self, Language, World};
use crate::command::{check, quiet, step};
use crate::repo::Repo;
use crate::stamp::unless_fresh;
use crate::{python, wit};

/// The prefix of the generated types, and the name of the generated files.
const PREFIX: &str = "pcwit";

/// The parts of the SDK that are for what a world may export.
const EXPORTS: [&str; 3] = ["resources", "prompts", "completions"];

/// Makes `target/zig` with the compiler, which brings WASI's C library.
pub(crate) fn compiler(repo: &Repo) -> Result<()> {
    python::install(&sdk(repo).join("requirements.txt"), &repo.target.join("zig"), (3, 11))
}

/// Builds the component `to` of all C files and the world of this name in a folder.
pub(crate) fn component(repo: &Repo, folder: &str, name: &str, to: &Path) -> Result<()> {
    compiler(repo)?;
    let from = repo.root.join(folder);
    let [world, manifest] = ["world.wit", "manifest.json"].map(|name| from.join(name));
    let wasi = wit::wasi(repo)?;
    let sdk = sdk(repo);
    let parts = ["include", "include/portcullis", "src", "src/data", "requirements.txt"].map(|part| sdk.join(part));
    let mut inputs = vec![from.clone(), repo.wit(), wasi.clone()];
    inputs.extend(parts);
    let work = repo.target.join("c").join(name);
    unless_fresh(&work.join("stamp"), &inputs, to, || {
        step(&format!("building {folder}"), || {
            let (bound, generated) = (work.join("wit"), work.join("generated"));
            let mut world = World::bound(repo, &world, name, &wasi, &bound)?;
            world.generate(&Language::C(PREFIX), &generated)?;
            let mut sources = [".c", "_component_type.o"].map(|end| generated.join(format!("{PREFIX}{end}"))).to_vec();
            sources.extend(sources_in(&sdk.join("src"), |part| !EXPORTS.contains(&part) || world.exports(part))?);
            sources.extend(sources_in(&sdk.join("src/data"), |_| true)?);
            sources.extend(sources_in(&from, |_| true)?);
            let module = work.join("module.wasm");
            let mut zig = zig(repo);
            zig.args(["-target", "wasm32-wasi", "-mexec-model=reactor", "-std=c17", "-Os", "-Wall", "-Wextra"]);
            // In tables, what is not named is not there.
            zig.arg("-Wno-missing-field-initializers");
            // The arena and static tables are never freed; what the bindings would free, they leave to the end of the call.
            zig.arg("-Dfree=pc_leave").arg("-I").arg(&generated).arg("-I").arg(sdk.join("include")).args(&sources);
            zig.args(["-Wl,--strip-all", "-Wl,-z,stack-size=131072", "-o"]).arg(&module);
            check(&mut zig).with_context(|| format!("{folder} does not compile"))?;
            let built = work.join("built.wasm");
            fs::write(&built, bindings::component(&fs::read(&module)?)?)?;
            wit::with_manifest(&built, &manifest, to)
        })
    })
}

/// Compiles the tests of the SDK for this machine, with the checks of memory that its compiler has, and runs them.
pub(crate) fn test(repo: &Repo) -> Result<()> {
    let (sdk, work) = (sdk(repo), repo.target.join("c"));
    fs::create_dir_all(&work)?;
    let program = work.join("tests");
    let mut cc = Command::new("cc");
    cc.args(["-std=c17", "-g", "-O1", "-Wall", "-Wextra", "-Wno-missing-field-initializers", "-Werror"]);
    cc.args(["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-I"])
        .arg(sdk.join("include"))
        .arg("-o")
        .arg(&program);
    cc.args(sources_in(&sdk.join("src/data"), |_| true)?).args(sources_in(&sdk.join("tests"), |_| true)?).arg("-lm");
    quiet(&mut cc).context("the tests of guest-sdk/c need a C compiler, which Rust's linker is part of")?;
    // The arena is never freed, on purpose.
    check(Command::new(&program).env("ASAN_OPTIONS", "detect_leaks=0")).context("guest-sdk/c has failing tests")
}

fn sdk(repo: &Repo) -> PathBuf {
    repo.root.join("guest-sdk/c")
}

/// The compiler; what it has compiled of its C library is kept for the next time.
fn zig(repo: &Repo) -> Command {
    let mut zig = Command::new(repo.target.join("zig/bin/python"));
    let cache = repo.target.join("c/cache");
    zig.args(["-m", "ziglang", "cc"]).env("ZIG_GLOBAL_CACHE_DIR", &cache).env("ZIG_LOCAL_CACHE_DIR", &cache);
    zig
}

/// The C files in a folder whose names are wanted, in a fixed order.
fn sources_in(folder: &Path, wanted: impl Fn(&str) -> bool) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if path.extension().is_some_and(|end| end == "c") && wanted(&stem) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}
