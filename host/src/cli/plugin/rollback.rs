//! `portcullis plugin rollback`.

use super::super::ConfigFile;
use super::ground::{Ground, RUNNING};
use super::update::difference;
use platform::telemetry::printable;
use plugins::install::{InstallError, changes};
use std::process::ExitCode;

#[derive(clap::Args)]
pub(in crate::cli) struct Rollback {
    /// The plugin's name.
    name: String,
    #[command(flatten)]
    file: ConfigFile,
}

impl Rollback {
    /// Asks nothing: what it goes back to was agreed to, and it gets no more than it has today.
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let ground = Ground::open(&self.file)?;
        let lock = ground.plugins.now()?;
        let id = ground.find(&lock, &self.name)?;
        let Some((entry, previous)) = lock.get(&id).and_then(|entry| Some((entry, entry.previous.as_ref()?))) else {
            return Err(InstallError::NothingBefore(id.table()).into());
        };
        let loader = ground.loader()?;
        // Its bytes and its words are what they were, and it is not withdrawn.
        let seen = ground.same(&loader, &previous.digest, &previous.definitions).await?;
        println!("[{id}] {} -> {}", entry.installed.digest, previous.digest);
        difference(&ground, &loader, entry, &changes(&entry.installed, previous), &seen.offer).await;
        let less = ground.plugins.roll_back(&id, &previous.digest)?;
        for line in less {
            println!("  - {}: not granted any more, it was not granted to this version", printable(&line));
        }
        let (name, config) = (id.table(), ground.config_option());
        println!("\n[{id}] is back as it was. {RUNNING}");
        println!("The version it was waits; `portcullis plugin accept {name}{config}` takes it up again.");
        Ok(ExitCode::SUCCESS)
    }
}
