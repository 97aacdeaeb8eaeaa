//! `portcullis check`.

use super::show;
use crate::clock::SystemClock;
use crate::config::Config;
use crate::host;
use crate::registry::definitions;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

#[derive(clap::Args)]
pub(super) struct Check {
    /// The component file.
    file: PathBuf,
}

impl Check {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let loader = host::loader(&Config::empty()?, Arc::new(SystemClock))?;
        let (digest, inspection, offer) = loader.examine(&self.file).await?;
        println!("{} is a plugin", self.file.display());
        show::component(&digest, &definitions(&offer), &inspection);
        show::offer(&offer);
        Ok(ExitCode::SUCCESS)
    }
}
