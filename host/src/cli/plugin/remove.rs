//! `portcullis plugin remove`.

use super::install_context::{InstallContext, RUNNING};
use crate::cli::options::ConfigFile;
use crate::cli::prompt::confirm;
use services::state;
use std::io::IsTerminal;
use std::process::ExitCode;

#[derive(clap::Args)]
pub(in crate::cli) struct Remove {
    /// The plugin's name.
    name: String,
    /// Remove without asking.
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    file: ConfigFile,
}

impl Remove {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let context = InstallContext::open(&self.file)?;
        let id = context.find(&context.plugins.load_lockfile()?, &self.name)?;
        if !self.yes {
            let command = format!("portcullis plugin remove {} --yes{}", id.table(), context.config_option());
            anyhow::ensure!(
                std::io::stdin().is_terminal(),
                "there is no terminal to ask at, so nothing was changed; to remove it, run: {command}"
            );
            if confirm(&format!("Remove [{}], with its grants and its data?", id.table())) != Some(true) {
                println!("Nothing was removed.");
                return Ok(ExitCode::FAILURE);
            }
        }
        context.plugins.remove(&id)?;
        // Otherwise the next plugin of that name would get the data.
        state::forget(&context.config.host_environment(), &id).await?;
        println!("[{}] is removed. {RUNNING}", id.table());
        Ok(ExitCode::SUCCESS)
    }
}
