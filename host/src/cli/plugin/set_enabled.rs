//! `portcullis plugin enable` and `disable`.

use super::install_context::InstallContext;
use crate::cli::options::ConfigFile;
use std::process::ExitCode;

#[derive(clap::Args)]
pub(in crate::cli) struct SetEnabled {
    /// The plugin's name.
    name: String,
    #[command(flatten)]
    file: ConfigFile,
}

impl SetEnabled {
    pub(super) fn run(self, enabled: bool) -> anyhow::Result<ExitCode> {
        let context = InstallContext::open(&self.file)?;
        let id = context.find(&context.plugins.load_lockfile()?, &self.name)?;
        let word = if enabled { "enabled" } else { "disabled" };
        match context.plugins.set_enabled(&id, enabled)? {
            true => println!("[{}] is {word}. {}", id.table(), context.running),
            false => println!("[{}] is {word} already.", id.table()),
        }
        Ok(ExitCode::SUCCESS)
    }
}
