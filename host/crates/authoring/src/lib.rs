//! From a plugin's folder to one component, in each language with the tools that it needs. Prints nothing to stdout.

mod c;
mod command;
mod component;
mod embedded;
mod environment;
mod folders;
mod go;
mod javascript;
mod links;
mod project;
mod python;
mod rust;
mod toolchain;
mod wit;

pub use command::announce_nothing;
pub use embedded::template;
pub use environment::{BuildEnvironment, C_COMPILERS};
pub use project::Language;

use anyhow::Context;
use platform::files::replace_file;
use plugins::package;
use project::Project;
use std::fs::{self, File, Permissions, TryLockError};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The plugin's name before it is built, and the file that it is built into unless another is named.
pub fn planned(folder: &Path) -> anyhow::Result<(String, PathBuf)> {
    let name = Project::open(folder)?.planned_name()?;
    let output = folder.join(format!("{name}.wasm"));
    Ok((name, output))
}

/// What was built.
pub struct BuiltPlugin {
    pub name: String,
    pub output: PathBuf,
    /// In bytes.
    pub size: u64,
}

/// Builds the plugin in a folder.
pub fn build(environment: &BuildEnvironment, folder: &Path, output: Option<PathBuf>) -> anyhow::Result<BuiltPlugin> {
    let project = Project::open(folder)?;
    links::refuse(&project.folder)?;
    let _lock = lock(&project)?;
    prepare(&project.folder, project.language)?;
    let bytes = match project.language {
        Language::Rust => rust::build(&project, environment)?,
        Language::C => project.stamp(&c::build(&project, environment)?)?,
        Language::Go => project.stamp(&go::build(&project)?)?,
        Language::Python => project.stamp(&python::build(&project, environment)?)?,
        Language::Javascript | Language::Typescript => project.stamp(&javascript::build(&project, environment)?)?,
    };
    // What is not a plugin is not written.
    let inspection = package::inspect(&bytes).context("what was built is not a plugin")?;
    let name = inspection.manifest.map_or(project.name, |manifest| manifest.name.to_string());
    let output = output.unwrap_or_else(|| folder.join(format!("{name}.wasm")));
    write(&output, &bytes)?;
    Ok(BuiltPlugin { name, output, size: bytes.len() as u64 })
}

/// Two builds of one folder would write the same files: the second one waits.
fn lock(project: &Project) -> anyhow::Result<File> {
    let work = project.work();
    let open = || {
        fs::create_dir_all(&work)?;
        let file = File::create(work.join("lock"))?;
        if let Err(TryLockError::WouldBlock) = file.try_lock() {
            eprintln!("waiting for another build of {}", project.folder.display());
            file.lock()?;
        }
        Ok::<_, std::io::Error>(file)
    };
    open().with_context(|| format!("cannot lock {}", work.display()))
}

/// Puts the SDK of the language into the project, as this program has it; it is not part of the author's sources.
pub fn prepare(folder: &Path, language: Language) -> anyhow::Result<()> {
    let work = folder.join(project::WORK);
    embedded::unpack(language.sdk(), &work.join(language.sdk()))?;
    if [Language::C, Language::Go].contains(&language) {
        embedded::remove_others(language.sdk(), &work.join(language.sdk()))?;
    }
    if language.sdk() == "javascript" {
        javascript::link(folder, &work.join("javascript"))?;
    }
    Ok(())
}

/// A server that reads the file meanwhile sees the old bytes or the new ones.
fn write(to: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    replace_file(to, bytes, Permissions::from_mode(0o644)).with_context(|| format!("cannot write {}", to.display()))
}
