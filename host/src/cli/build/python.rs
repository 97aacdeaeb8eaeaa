//! Python: componentize-py makes a component of the interpreter, the SDK and the author's modules.

use super::command::{quiet, step};
use super::componentize::{ENTRY, componentize};
use super::folders::empty;
use super::project::Project;
use super::{immortal, packages, python_archives, records_as_tuples, single_module, toolchain, wit};
use anyhow::{Context, ensure};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Folders that contain no modules of a plugin.
const SKIPPED: [&str; 5] = ["__pycache__", "node_modules", "venv", "env", "tests"];

pub(super) fn build(project: &Project) -> anyhow::Result<Vec<u8>> {
    let tools = toolchain::python()?;
    let python = tools.interpreter();
    let (work, sdk) = (project.work(), project.work().join("python"));
    let (image, sources, bound) = (work.join("image"), work.join("sources"), work.join("wit"));
    let packages = packages::install(project, &python)?;
    empty(&image)?;
    empty(&sources)?;
    copy_modules(&project.folder, &sources, false)
        .with_context(|| format!("cannot copy {}", project.folder.display()))?;
    let mut ask = Command::new(&python);
    let mut path = vec![sdk.clone()];
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
    // Copies: what runs while the image is made could change them.
    let mut archives = vec![python_archives::standard(&tools)?];
    if let Some(packages) = &packages {
        archives.push(python_archives::of_packages(packages, &python, &sdk, &archives[0])?);
    }
    for (at, archive) in archives.iter().enumerate() {
        fs::copy(archive, image.join(format!("{at}.archive"))).context("cannot copy what is packed")?;
    }
    let mut path = vec![image.clone(), sources, sdk];
    path.extend(packages.map(|packages| packages.folder));
    fs::write(image.join(format!("{ENTRY}.py")), entry(project, &exports, archives.len(), path.len()))?;
    let built = work.join("built.wasm");
    step("building the component", || componentize(&python, &bound, &path, &built))?;
    let bytes = fs::read(&built).context("componentize-py wrote no component")?;
    fs::remove_file(built)?;
    let is_never_called = |interface: &str, function: &str| project.is_out_of_reach(interface, function);
    let mut linked =
        single_module::link(&bytes, is_never_called).context("cannot link the modules of the component")?;
    immortal::make(&mut linked).context("cannot arrange the image of the interpreter")?;
    Ok(linked)
}

/// Loads everything before the component is made. What is imported later comes from the archives.
fn entry(project: &Project, exports: &[String], archives: usize, folders: usize) -> String {
    let archives: Vec<String> = (0..archives).map(|at| format!("/0/{at}.archive")).collect();
    // componentize-py adds packages of an environment, which are none of the plugin's.
    let ours = (0..folders).map(|at| format!("/{at}"));
    let path: Vec<String> =
        ["/python".into(), "/world".into()].into_iter().chain(ours).chain(["/bundled".into()]).collect();
    let mut text = format!("import portcullis_image\nportcullis_image.begin({archives:?}, \"/1\", {path:?})\n");
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
        text += "from portcullis_guest import sockets\nsockets.install()\n";
    }
    text + &format!("import {main}\nportcullis_image.prepare({main:?})\n", main = project.main)
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
