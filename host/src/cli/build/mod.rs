//! `portcullis build`: from a plugin's folder to one `.wasm` file, in each language with the tools that it needs.

mod bundle;
mod c;
mod command;
mod componentize;
mod dependencies;
mod embedded;
mod folders;
mod go;
mod go_runtime;
mod immortal;
mod javascript;
mod links;
mod module;
mod node_built_ins;
mod packages;
mod passive_segments;
mod project;
mod python;
mod python_interpreter;
mod records_as_tuples;
mod rust;
mod rust_c;
mod single_module;
mod toolchain;
mod typescript;
mod web_globals;
mod wit;

pub(super) use embedded::template;
pub(super) use project::Language;

use super::text::shell_quote;
use anyhow::Context;
use bytesize::ByteSize;
use platform::files::replace_file;
use plugins::package;
use project::Project;
use std::fs::{self, File, Permissions, TryLockError};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(clap::Args)]
pub(super) struct Build {
    /// The plugin's folder: it has a Cargo.toml, a pyproject.toml, a package.json or a manifest.json.
    #[arg(default_value = ".")]
    folder: PathBuf,
    /// The file to write [default: the plugin's name and .wasm, in its folder].
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Build {
    /// If `quiet`, only the tools and errors are heard.
    pub(super) fn run(self, quiet: bool) -> anyhow::Result<ExitCode> {
        if quiet {
            command::announce_nothing();
        }
        let BuiltPlugin { name, output, size } = build(&self.folder, self.output)?;
        let shown = shell_quote(&output.display().to_string());
        println!("Built {shown}, {}. Next:", ByteSize::b(size).display().iec());
        println!("  portcullis check {shown}      # what it offers and requests");
        println!("  portcullis call {name} TOOL NAME=VALUE   # with a portcullis.toml that has [plugins.{name}]");
        Ok(ExitCode::SUCCESS)
    }
}

/// The plugin's name before it is built, and the file that it is built into unless another is named.
pub(super) fn planned(folder: &Path) -> anyhow::Result<(String, PathBuf)> {
    let name = Project::open(folder)?.planned_name()?;
    let output = folder.join(format!("{name}.wasm"));
    Ok((name, output))
}

/// What was built.
pub(super) struct BuiltPlugin {
    pub(super) name: String,
    pub(super) output: PathBuf,
    size: u64,
}

/// Builds the plugin in a folder. Prints nothing to stdout.
pub(super) fn build(folder: &Path, output: Option<PathBuf>) -> anyhow::Result<BuiltPlugin> {
    let project = Project::open(folder)?;
    links::refuse(&project.folder)?;
    let _lock = lock(&project)?;
    prepare(&project.folder, project.language)?;
    let bytes = match project.language {
        Language::Rust => rust::build(&project)?,
        Language::C => project.stamp(&c::build(&project)?)?,
        Language::Go => project.stamp(&go::build(&project)?)?,
        Language::Python => project.stamp(&python::build(&project)?)?,
        Language::Javascript | Language::Typescript => project.stamp(&javascript::build(&project)?)?,
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

/// The component that a path names: a file, or what the plugin's folder is built into.
pub(super) async fn component(path: &Path) -> anyhow::Result<PathBuf> {
    if !path.is_dir() {
        return Ok(path.to_owned());
    }
    let folder = path.to_owned();
    let built = tokio::task::spawn_blocking(move || build(&folder, None)).await??;
    eprintln!("built {}", shell_quote(&built.output.display().to_string()));
    Ok(built.output)
}

/// Puts the SDK of the language into the project, as this program has it; it is not part of the author's sources.
pub(super) fn prepare(folder: &Path, language: Language) -> anyhow::Result<()> {
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
