//! `portcullis config`.

use std::process::ExitCode;

#[derive(clap::Args)]
pub(super) struct ConfigCommand {
    /// Print an example with every key, its default and its meaning.
    #[arg(long, required = true)]
    example: bool,
}

impl ConfigCommand {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        print!("{}", crate::config::EXAMPLE);
        Ok(ExitCode::SUCCESS)
    }
}
