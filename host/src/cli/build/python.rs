//! Python: componentize-py makes a component of the interpreter, the SDK and the author's modules.

use super::command::{quiet, step};
use super::project::Project;
use super::{immortal, packages, records_as_tuples, single_module, toolchain, wit};
use anyhow::{Context, ensure};
use std::fs;
use std::path::Path;
use std::process::Command;

/// The module with which the component begins.
const ENTRY: &str = "portcullis_entry";
/// Folders that contain no modules of a plugin.
const SKIPPED: [&str; 5] = ["__pycache__", "node_modules", "venv", "env", "tests"];

pub(super) fn build(project: &Project) -> anyhow::Result<Vec<u8>> {
    let python = toolchain::python()?;
    let (work, sdk) = (project.work(), project.work().join("python"));
    let (sources, bound) = (work.join("sources"), work.join("wit"));
    let packages = packages::install(project, &python)?;
    // From a copy: Python writes its bytecode beside the sources that it loads.
    if sources.exists() {
        fs::remove_dir_all(&sources)?;
    }
    copy_modules(&project.folder, &sources).with_context(|| format!("cannot copy {}", project.folder.display()))?;
    let mut ask = Command::new(&python);
    let mut path = vec![sdk];
    path.extend(packages.as_ref().map(|packages| packages.folder.clone()));
    ask.args(["-B", "-m", "portcullis_guest", &project.main]).current_dir(&sources);
    ask.env(
        "PYTHONPATH",
        std::env::join_paths(&path).context("the folder's name has a colon, which Python cannot read")?,
    );
    let said = quiet(&mut ask, "").with_context(|| format!("cannot load the module {}", project.main))?;
    let exports: Vec<String> = serde_json::from_str(&said).context("the plugin must not print while it is loaded")?;
    ensure!(!exports.is_empty(), "{} offers nothing: mark functions with @tool, @resource or @prompt", project.main);
    let wasi: &[&str] = if project.wants_http() { &[wit::HTTP] } else { &[] };
    wit::write(&bound, &exports, &wit::all_imports(wasi), |text| records_as_tuples::with_tuples(&text))?;
    fs::write(sources.join(format!("{ENTRY}.py")), entry(project, &exports))?;
    let built = work.join("built.wasm");
    let componentize = || {
        let mut build = Command::new(&python);
        build.args(["-c", "import componentize_py; componentize_py.script()", "--quiet", "--wit-path"]).arg(&bound);
        build.args(["--world", wit::WORLD, "componentize", "--python-path"]).arg(&sources);
        for folder in &path {
            build.arg("--python-path").arg(folder);
        }
        build.args([ENTRY, "--output"]).arg(&built);
        // Of an error in the author's code, Python's own traceback says enough.
        build.env("RUST_BACKTRACE", "0");
        quiet(&mut build, "").map(drop)
    };
    // The component is an image of the interpreter's memory, with what its compiler has used. Compiled packages are left behind by
    // the first build, and loaded by the second one: that makes 23 MB of 45.
    if let Some(packages) = packages.filter(|packages| !packages.compiled()) {
        step("compiling the packages", componentize)?;
        packages.set_compiled()?;
    }
    step("building the component", componentize)?;
    let bytes = fs::read(&built).context("componentize-py wrote no component")?;
    fs::remove_file(built)?;
    let is_never_called = |interface: &str, function: &str| project.is_out_of_reach(interface, function);
    let mut linked =
        single_module::link(&bytes, is_never_called).context("cannot link the modules of the component")?;
    immortal::make(&mut linked).context("cannot arrange the image of the interpreter")?;
    Ok(linked)
}

/// Loads everything before the component is made: afterwards there are no files to load.
fn entry(project: &Project, exports: &[String]) -> String {
    let mut text = String::from("import portcullis_image\nportcullis_image.begin()\n");
    for export in exports {
        let class = export[..1].to_uppercase() + &export[1..];
        text += &format!("from portcullis_guest.exports import {class}\n");
        // The types of these are beside the interface; those of tools are shared.
        if export != "tools" {
            text += &format!("import wit_world.exports.{export}\n");
        }
    }
    if project.wants_http() {
        text += "import portcullis_guest.wit_http\n";
    }
    text + &format!("import {main}\nportcullis_image.prepare({main:?})\n", main = project.main)
}

fn copy_modules(from: &Path, to: &Path) -> std::io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        // Links are not followed: they could lead round in a circle.
        let kind = entry.file_type()?;
        if kind.is_dir() && !name.starts_with('.') && !SKIPPED.contains(&name.as_str()) {
            copy_modules(&path, &to.join(name))?;
        } else if kind.is_file() && name.ends_with(".py") {
            fs::create_dir_all(to)?;
            fs::copy(&path, to.join(name))?;
        }
    }
    Ok(())
}
