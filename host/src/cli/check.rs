//! `portcullis check`.

use super::{ConfigFile, show};
use crate::clock::SystemClock;
use crate::config::Config;
use crate::install::{Source, Sources};
use crate::registry::definitions;
use crate::{host, package};
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
        let bytes = match path.is_file() {
            true => package::read_file(path)?,
            false => {
                let found = Sources::new(self.file.or_none()?.sources).fetch(&self.reference).await?;
                match &found.signer {
                    Some(signer) => println!("{}\nsigned by {signer}", found.resolved),
                    None => println!("{}\nsigned by nobody whom [sources] names", found.resolved),
                }
                found.bytes
            }
        };
        let seen = loader.examine(path, &bytes).await?;
        println!("{} is a plugin", path.display());
        show::component(&seen.digest, &definitions(&seen.offer), &seen.inspection);
        show::offer(&seen.offer);
        Ok(ExitCode::SUCCESS)
    }
}
