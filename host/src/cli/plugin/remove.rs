//! `portcullis plugin remove`.

use super::install_context::InstallContext;
use crate::cli::options::ConfigFile;
use crate::cli::prompt::Agreement;
use services::state;
use std::process::ExitCode;

#[derive(clap::Args)]
pub(in crate::cli) struct Remove {
    /// The plugin's name.
    name: String,
    #[command(flatten)]
    agreement: Agreement,
    #[command(flatten)]
    file: ConfigFile,
}

impl Remove {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let context = InstallContext::open(&self.file)?;
        let id = context.find(&context.plugins.load_lockfile()?, &self.name)?;
        let command = format!("portcullis plugin remove {}{}", id.table(), context.config_option);
        if !self.agreement.get(&format!("Remove [{}], with its grants and its data?", id.table()), &command)? {
            println!("Nothing was removed.");
            return Ok(ExitCode::FAILURE);
        }
        context.plugins.remove(&id)?;
        // Otherwise the next plugin of that name would get the data.
        state::forget(&context.config.host_environment(), &id).await?;
        println!("[{}] is removed. {}", id.table(), context.running);
        Ok(ExitCode::SUCCESS)
    }
}
