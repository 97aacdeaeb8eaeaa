//! `portcullis plugin pack`.

use crate::cli::build;
use crate::cli::text::shell_quote;
use crate::config::Config;
use crate::host;
use anyhow::Context;
use platform::clock::SystemClock;
use plugins::install::{trusted_comment, write_layout};
use plugins::loading::ExaminedComponent;
use plugins::package;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

#[derive(clap::Args)]
pub(in crate::cli) struct Pack {
    /// The component file, or the folder of a plugin, which is built. It is checked like a plugin to be loaded, and packed unchanged.
    component: PathBuf,
    /// Output folder for the OCI image layout. Must be new or empty.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

impl Pack {
    pub(super) async fn run(&self) -> anyhow::Result<ExitCode> {
        let loader = host::build_loader(&Config::empty()?, Arc::new(SystemClock))?;
        let component = build::component(&self.component).await?;
        let bytes = package::read_file(&component)?;
        let ExaminedComponent { digest, inspection, .. } = loader.examine(&component, &bytes).await?;
        let folder = self.out.clone().unwrap_or_else(|| component.with_extension("oci"));
        if std::fs::read_dir(&folder).is_ok_and(|mut entries| entries.next().is_some()) {
            anyhow::bail!("{} is not empty; name another folder with --out", folder.display());
        }
        let artefact =
            write_layout(bytes, &inspection, &folder).with_context(|| format!("writing {}", folder.display()))?;
        println!("component {digest}");
        println!("artefact  {artefact}");
        println!("written to {}", folder.display());
        if let Some(manifest) = &inspection.manifest {
            // Quoted, since the name comes from the plugin.
            let comment = shell_quote(&trusted_comment(&manifest.name, &manifest.version, &digest));
            println!("to sign it: minisign -Sm {} -t {comment}", shell_quote(&component.display().to_string()));
        }
        Ok(ExitCode::SUCCESS)
    }
}
