//! `portcullis plugin rollback`.

use super::install_context::InstallContext;
use super::update::difference;
use crate::cli::options::ConfigFile;
use platform::telemetry::printable;
use plugins::install::{InstallError, compare_versions};
use std::process::ExitCode;

#[derive(clap::Args)]
pub(in crate::cli) struct Rollback {
    /// The plugin's name.
    name: String,
    #[command(flatten)]
    file: ConfigFile,
}

impl Rollback {
    /// Does not ask, since the old version was approved and gets no new grants.
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let context = InstallContext::open(&self.file)?;
        let lock = context.plugins.load_lockfile()?;
        let id = context.find(&lock, &self.name)?;
        let Some((entry, previous)) = lock.get(&id).and_then(|entry| Some((entry, entry.previous.as_ref()?))) else {
            return Err(InstallError::NoPrevious(id.table()).into());
        };
        let loader = context.loader()?;
        // Checks that the component and its definitions are unchanged and that it is not withdrawn.
        let seen = context.read_unchanged(&loader, &previous.digest, &previous.definitions).await?;
        println!("[{id}] {} -> {}", entry.installed.digest, previous.digest);
        difference(&context, &loader, entry, &compare_versions(&entry.installed, previous), &seen.offer).await;
        let less = context.plugins.roll_back(&id, &previous.digest)?;
        for line in less {
            println!("  - {}: no longer granted, since this version did not have it", printable(&line));
        }
        let (name, config) = (id.table(), context.config_option);
        println!("\n[{id}] is back to its previous version. {}", context.running);
        println!("The newer version is staged; `portcullis plugin accept {name}{config}` installs it again.");
        Ok(ExitCode::SUCCESS)
    }
}
