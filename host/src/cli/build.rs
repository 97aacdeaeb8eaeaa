//! `portcullis build`: from a plugin's folder to one `.wasm` file.

use super::text::shell_quote;
use crate::config::{default_cache, environment_variable};
use crate::host::worker_program;
use authoring::{BuildEnvironment, BuiltPlugin, C_COMPILERS};
use bytesize::ByteSize;
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
    /// With `quiet`, prints only errors and the output of tools.
    pub(super) fn run(self, quiet: bool) -> anyhow::Result<ExitCode> {
        if quiet {
            authoring::announce_nothing();
        }
        let BuiltPlugin { name, output, size } = authoring::build(&environment()?, &self.folder, self.output)?;
        let shown = shell_quote(&output.display().to_string());
        println!("Built {shown}, {}. Next:", ByteSize::b(size).display().iec());
        println!("  portcullis check {shown}      # what it offers and requests");
        println!("  portcullis call {name} TOOL NAME=VALUE   # with a portcullis.toml that has [plugins.{name}]");
        Ok(ExitCode::SUCCESS)
    }
}

fn environment() -> anyhow::Result<BuildEnvironment> {
    Ok(BuildEnvironment {
        cache: default_cache().map_err(|error| error.to_string()),
        worker: worker_program()?,
        has_c_compiler: C_COMPILERS.iter().any(|name| environment_variable(name).is_some()),
    })
}

/// The component that a path names: a file, or what the plugin's folder is built into.
pub(crate) async fn component(path: &Path) -> anyhow::Result<PathBuf> {
    if !path.is_dir() {
        return Ok(path.to_owned());
    }
    let folder = path.to_owned();
    let built = tokio::task::spawn_blocking(move || authoring::build(&environment()?, &folder, None)).await??;
    eprintln!("built {}", shell_quote(&built.output.display().to_string()));
    Ok(built.output)
}
