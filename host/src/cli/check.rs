//! `portcullis check`.

use super::{ConfigFile, show};
use crate::clock::SystemClock;
use crate::config::Config;
use crate::host;
use crate::install::{Source, Sources};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

#[derive(clap::Args)]
pub(super) struct Check {
    /// The component: a file, https://….wasm#sha256:<digest>, or oci://registry/repository:tag.
    reference: String,
    /// Configuration file, of which [sources] is used.
    #[command(flatten)]
    file: ConfigFile,
}

impl Check {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let loader = host::loader(&Config::empty()?, Arc::new(SystemClock))?;
        let path = Path::new(&self.reference);
        // A file of any name may be looked at.
        let found = match path.is_file() {
            true => {
                let (digest, inspection, offer) = loader.examine(path).await?;
                println!("{} is a plugin", path.display());
                show::component(&digest, &inspection);
                show::offer(&offer);
                return Ok(ExitCode::SUCCESS);
            }
            false => Sources::new(self.file.or_none()?.sources).fetch(&self.reference).await?,
        };
        let (digest, inspection, offer) = loader.examine_bytes(Path::new(&self.reference), &found.bytes).await?;
        println!("{} is a plugin", found.resolved);
        match &found.signer {
            Some(signer) => println!("signed by {signer}"),
            None => println!("signed by nobody whom [sources] names"),
        }
        show::component(&digest, &inspection);
        show::offer(&offer);
        Ok(ExitCode::SUCCESS)
    }
}
