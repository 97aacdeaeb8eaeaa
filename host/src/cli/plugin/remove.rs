//! `portcullis plugin remove`.

use super::super::ConfigFile;
use super::super::answers::agreed;
use super::ground::{Ground, RUNNING};
use services::state;
use std::io::IsTerminal;
use std::process::ExitCode;

#[derive(clap::Args)]
pub(in crate::cli) struct Remove {
    /// The plugin's name.
    name: String,
    /// Ask nothing.
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    file: ConfigFile,
}

impl Remove {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let ground = Ground::open(&self.file)?;
        let id = ground.find(&ground.plugins.now()?, &self.name)?;
        if !self.yes {
            let command = format!("portcullis plugin remove {} --yes{}", id.table(), ground.config_option());
            anyhow::ensure!(
                std::io::stdin().is_terminal(),
                "nobody sits at the terminal to be asked, so nothing was changed; if you are sure: {command}"
            );
            if agreed(&format!("Remove [{}], with its grants and all that it kept?", id.table())) != Some(true) {
                println!("Nothing was removed.");
                return Ok(ExitCode::FAILURE);
            }
        }
        ground.plugins.remove(&id)?;
        // Or the next plugin of that name would find it.
        state::forget(&ground.config.machine(), &id).await?;
        println!("[{}] is removed. {RUNNING}", id.table());
        Ok(ExitCode::SUCCESS)
    }
}
