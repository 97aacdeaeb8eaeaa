//! `portcullis plugin push`.

use super::super::ConfigFile;
use crate::config::Config;
use crate::host;
use anyhow::Context;
use platform::clock::SystemClock;
use plugins::install::{Reference, Sources, signature_file};
use plugins::package;
use plugins::registry::Examined;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

#[derive(clap::Args)]
pub(in crate::cli) struct Push {
    /// The component file. It is looked at as if it were to be loaded.
    component: PathBuf,
    /// Where to: oci://registry/repository:tag.
    to: String,
    /// A signature of it to publish beside it: a .minisig file or a sigstore bundle.
    #[arg(long, value_name = "FILE")]
    signature: Vec<PathBuf>,
    /// Configuration file, of which [sources] has the credentials.
    #[command(flatten)]
    file: ConfigFile,
}

impl Push {
    pub(super) async fn run(&self) -> anyhow::Result<ExitCode> {
        let Reference::Oci(name) = Reference::parse(&self.to)? else {
            anyhow::bail!("`{}` is not in a registry; write oci://registry/repository:tag", self.to);
        };
        anyhow::ensure!(name.digest.is_none(), "a digest is what comes of publishing; name a tag");
        let read = |path: &PathBuf| signature_file(path).with_context(|| format!("reading {}", path.display()));
        let signatures = self.signature.iter().map(read).collect::<anyhow::Result<Vec<_>>>()?;
        let sources = Sources::new(self.file.or_none()?.sources);
        let loader = host::loader(&Config::empty()?, Arc::new(SystemClock))?;
        let bytes = package::read_file(&self.component)?;
        let Examined { digest, inspection, .. } = loader.examine(&self.component, &bytes).await?;
        let pushed = sources.push(&name, bytes, &inspection, signatures).await?;
        println!("component {digest}");
        println!("published as {pushed}");
        Ok(ExitCode::SUCCESS)
    }
}
