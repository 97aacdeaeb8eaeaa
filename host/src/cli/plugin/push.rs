//! `portcullis plugin push`.

use crate::cli::build;
use crate::cli::options::ConfigFile;
use crate::config::Config;
use crate::host;
use anyhow::Context;
use platform::clock::SystemClock;
use plugins::install::{PluginSources, Reference, read_signature_file};
use plugins::loading::ExaminedComponent;
use plugins::package;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

#[derive(clap::Args)]
pub(in crate::cli) struct Push {
    /// The component file, or the folder of a plugin, which is built. It is checked like a plugin to be loaded.
    component: PathBuf,
    /// The destination: oci://registry/repository:tag.
    to: String,
    /// A signature to publish with it: a .minisig file or a sigstore bundle. May be repeated.
    #[arg(long, value_name = "FILE")]
    signature: Vec<PathBuf>,
    /// Configuration file with the credentials in [sources].
    #[command(flatten)]
    file: ConfigFile,
}

impl Push {
    pub(super) async fn run(&self) -> anyhow::Result<ExitCode> {
        let Reference::Oci(name) = Reference::parse(&self.to)? else {
            anyhow::bail!("`{}` is not in a registry; write oci://registry/repository:tag", self.to);
        };
        anyhow::ensure!(name.digest.is_none(), "the destination must be a tag, not a digest");
        // Another build may have other bytes than the ones that were signed.
        anyhow::ensure!(
            self.signature.is_empty() || !self.component.is_dir(),
            "a signature is of a file's bytes: build {0} with `portcullis build {0}`, sign the file, and push that",
            self.component.display()
        );
        let read = |path: &PathBuf| read_signature_file(path).with_context(|| format!("reading {}", path.display()));
        let signatures = self.signature.iter().map(read).collect::<anyhow::Result<Vec<_>>>()?;
        let sources = PluginSources::new(self.file.load_or_empty()?.sources);
        let loader = host::build_loader(&Config::empty()?, Arc::new(SystemClock))?;
        let component = build::component(&self.component).await?;
        let bytes = package::read_file(&component)?;
        let ExaminedComponent { digest, inspection, .. } = loader.examine(&component, &bytes).await?;
        let pushed = sources.push(&name, bytes, &inspection, signatures).await?;
        println!("component {digest}");
        println!("published as {pushed}");
        Ok(ExitCode::SUCCESS)
    }
}
