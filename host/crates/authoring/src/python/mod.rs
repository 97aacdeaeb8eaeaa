//! Python: a started interpreter loads the author's modules, and a component is made of the memory that they leave.

mod componentize;
mod immortal;
mod interpreter;
mod packages;

use crate::command::{quiet, step};
use crate::component::single_module::{self, Linking};
use crate::environment::BuildEnvironment;
use crate::folders::empty;
use crate::project::Project;
use crate::{toolchain, wit};
use anyhow::{Context, ensure};
use interpreter::Interpreter;
use packages::Packages;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the interpreter sees the author's modules.
const SOURCES: &str = "/1";
/// Where it sees the packages.
const PACKAGES: &str = "/3";
/// The packages' bytecode, in the folder that the interpreter sees as `/0`.
const PACKED: &str = "packages.archive";

/// Folders that contain no modules of a plugin.
const SKIPPED: [&str; 5] = ["__pycache__", "node_modules", "venv", "env", "tests"];

pub(crate) fn build(project: &Project, environment: &BuildEnvironment) -> anyhow::Result<Vec<u8>> {
    let tools = toolchain::python(environment)?;
    let python = tools.interpreter();
    let (work, sdk) = (project.work(), project.work().join("python"));
    let (image, sources) = (work.join("image"), work.join("sources"));
    let packages = packages::install(project, &python)?;
    empty(&image)?;
    empty(&sources)?;
    copy_modules(&project.folder, &sources, false)
        .with_context(|| format!("cannot copy {}", project.folder.display()))?;
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
    let interpreter = Interpreter::installed(&tools, environment)?;
    if let Some(packages) = &packages {
        // Uses a copy, since code that runs while the image is made could change the archive.
        fs::copy(packed(packages, &interpreter)?, image.join(PACKED)).context("cannot copy what is packed")?;
    }
    // Each text has a run of its own, since it arranges what the run before has left at its end.
    let texts = [
        loading_text(project, packages.is_some()),
        format!("import portcullis_image\nportcullis_image.prepare({:?})\n", project.main),
        "import portcullis_image\nportcullis_image.settle()\n".into(),
    ];
    let built = step("building the component", || interpreter.run_and_keep(&texts, &image, &[(SOURCES, &sources)]))?;
    let exported: Vec<String> = exports.iter().map(|name| wit::full_name(name)).collect();
    let linking = Linking {
        is_never_called: &|interface, function| {
            project.is_out_of_reach(interface, function) || !project.wants_http() && interface.starts_with("wasi:http/")
        },
        is_exported: &|name| exported.iter().any(|one| one == name),
        ..Linking::WHOLE
    };
    let mut linked = single_module::link(&built, &linking).context("cannot link the module of the component")?;
    immortal::make(&mut linked).context("cannot arrange the image of the interpreter")?;
    Ok(linked)
}

/// The packages of a plugin as bytecode, compiled once.
fn packed(packages: &Packages, interpreter: &Interpreter) -> anyhow::Result<PathBuf> {
    let folder = packages.packed(&interpreter.version());
    let archive = folder.join(PACKED);
    if !archive.is_file() {
        // Removes what other versions of this program have packed there.
        empty(folder.parent().unwrap_or(&folder))?;
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let write = format!(
            "from portcullis_image import archive\narchive.write(\"/0/part\", archive.Part({PACKAGES:?}, {PACKAGES:?}))\n"
        );
        step("compiling the packages", || {
            interpreter.run(&write, &folder, &[(PACKAGES, &packages.folder)])?;
            // The archive gets its name only when it is complete.
            fs::rename(folder.join("part"), &archive).context("the packages were not packed")
        })?;
    }
    Ok(archive)
}

/// Loads everything before the image is taken. What is imported later comes from the archives.
fn loading_text(project: &Project, has_packages: bool) -> String {
    let archive = if has_packages { format!("\"/0/{PACKED}\"") } else { "None".into() };
    let mut text = format!("import portcullis_image\nportcullis_image.include({SOURCES:?}, {archive})\n");
    text += if project.wants_http() {
        "from portcullis_guest import sockets\nsockets.install()\n"
    } else {
        // Lets the import of this module fail, as it does where there are no bindings.
        "import sys\nsys.modules[\"portcullis_guest.wit_http\"] = None\n"
    };
    text + &format!("import {main}\nportcullis_image.load({SOURCES:?})\n", main = project.main)
}

/// Copies modules, and the other files in the folders of packages: a file elsewhere may be anything, such as a key.
fn copy_modules(from: &Path, to: &Path, is_inside: bool) -> std::io::Result<()> {
    let is_package = is_inside || from.join("__init__.py").is_file();
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        // Links are not followed: they could lead round in a circle.
        let kind = entry.file_type()?;
        if kind.is_dir() && !name.starts_with('.') && !SKIPPED.contains(&name.as_str()) {
            copy_modules(&path, &to.join(name), is_package)?;
        } else if kind.is_file() && (name.ends_with(".py") || is_package && !name.starts_with('.')) {
            fs::create_dir_all(to)?;
            fs::copy(&path, to.join(name))?;
        }
    }
    Ok(())
}
