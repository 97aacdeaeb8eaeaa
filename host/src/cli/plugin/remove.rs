//! `portcullis plugin remove`.

use super::earlier_data;
use super::install_context::InstallContext;
use crate::cli::options::ConfigFile;
use crate::cli::prompt::Agreement;
use anyhow::Context;
use platform::telemetry::printable;
use services::plugin_data;
use std::process::ExitCode;

#[derive(clap::Args)]
pub(in crate::cli) struct Remove {
    /// The plugin's name.
    name: String,
    /// Keep its data for when it is installed again.
    #[arg(long)]
    keep_data: bool,
    #[command(flatten)]
    agreement: Agreement,
    #[command(flatten)]
    file: ConfigFile,
}

impl Remove {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let context = InstallContext::open(&self.file)?;
        let lock = context.plugins.load_lockfile()?;
        let id = context.find(&lock, &self.name)?;
        let entry = lock.get(&id).context("the plugin is not installed any more")?;
        let data = entry.data_key(&id);
        let kept = plugin_data::kept(&context.config.host_environment(), &id, &data).await?;
        let what = earlier_data::removed_with(kept.get(&data), self.keep_data, context.state());
        let keeps = if self.keep_data { " --keep-data" } else { "" };
        let command = format!("portcullis plugin remove {}{keeps}{}", id.table(), context.config_option);
        let question = format!("Remove [{id}] from {}, with {what}?", printable(&entry.reference));
        if !self.agreement.get(&question, &command)? {
            println!("Nothing was removed.");
            return Ok(ExitCode::FAILURE);
        }
        // Fails before anything is removed if it cannot be determined whose data it is.
        context.plugins.others_with(&id, &data)?;
        context.plugins.remove(&id)?;
        if !self.keep_data {
            earlier_data::remove(&context, &id, &data).await?;
        }
        println!("[{id}] is removed. {}", context.running);
        Ok(ExitCode::SUCCESS)
    }
}
