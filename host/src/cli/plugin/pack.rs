//! `portcullis plugin pack`.

use super::consent::quoted;
use crate::config::Config;
use crate::host;
use anyhow::Context;
use platform::clock::SystemClock;
use plugins::install::{pack, trusted_comment};
use plugins::package;
use plugins::registry::Examined;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

#[derive(clap::Args)]
pub(in crate::cli) struct Pack {
    /// The component file. It is looked at as if it were to be loaded, and kept as it is.
    component: PathBuf,
    /// Where the artefact goes: a new or empty folder, which becomes an OCI image layout.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

impl Pack {
    pub(super) async fn run(&self) -> anyhow::Result<ExitCode> {
        let loader = host::loader(&Config::empty()?, Arc::new(SystemClock))?;
        let bytes = package::read_file(&self.component)?;
        let Examined { digest, inspection, .. } = loader.examine(&self.component, &bytes).await?;
        let folder = self.out.clone().unwrap_or_else(|| self.component.with_extension("oci"));
        if std::fs::read_dir(&folder).is_ok_and(|mut entries| entries.next().is_some()) {
            anyhow::bail!("{} is not empty; name another folder with --out", folder.display());
        }
        let artefact = pack(bytes, &inspection, &folder).with_context(|| format!("writing {}", folder.display()))?;
        println!("component {digest}");
        println!("artefact  {artefact}");
        println!("written to {}", folder.display());
        if let Some(manifest) = &inspection.manifest {
            // The plugin chose its name: it must stay one word of a shell.
            let comment = quoted(&trusted_comment(&manifest.name, &manifest.version, &digest));
            println!("to sign it: minisign -Sm {} -t {comment}", quoted(&self.component.display().to_string()));
        }
        Ok(ExitCode::SUCCESS)
    }
}
