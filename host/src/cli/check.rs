//! `portcullis check`.

use super::show;
use crate::clock::SystemClock;
use crate::config::Config;
use crate::host;
use crate::package;
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
        let seen = loader.examine(&self.file, &package::read_file(&self.file)?).await?;
        println!("{} is a plugin", self.file.display());
        show::component(&seen.digest, &definitions(&seen.offer), &seen.inspection);
        show::offer(&seen.offer);
        Ok(ExitCode::SUCCESS)
    }
}
