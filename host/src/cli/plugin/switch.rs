//! `portcullis plugin enable` and `disable`.

use super::super::ConfigFile;
use super::ground::{Ground, RUNNING};
use std::process::ExitCode;

#[derive(clap::Args)]
pub(in crate::cli) struct Switch {
    /// The plugin's name.
    name: String,
    #[command(flatten)]
    file: ConfigFile,
}

impl Switch {
    pub(super) fn run(self, enabled: bool) -> anyhow::Result<ExitCode> {
        let ground = Ground::open(&self.file)?;
        let id = ground.find(&ground.plugins.now()?, &self.name)?;
        let word = if enabled { "enabled" } else { "disabled" };
        match ground.plugins.enable(&id, enabled)? {
            true => println!("[{}] is {word}. {RUNNING}", id.table()),
            false => println!("[{}] was {word} already.", id.table()),
        }
        Ok(ExitCode::SUCCESS)
    }
}
