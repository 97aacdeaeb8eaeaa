//! `portcullis plugin accept`.

use super::consent::{ConsentOptions, ConsentRequest};
use super::install_context::InstallContext;
use super::update::difference;
use crate::cli::options::ConfigFile;
use anyhow::Context;
use plugins::install::compare_versions;
use policy::Extent;
use std::process::ExitCode;

#[derive(clap::Args)]
pub(in crate::cli) struct Accept {
    /// The plugin's name.
    name: String,
    /// Accept only a component with this digest, such as a reviewed one.
    #[arg(long, value_name = "sha256:...")]
    digest: Option<String>,
    #[command(flatten)]
    consent: ConsentOptions,
    #[command(flatten)]
    file: ConfigFile,
}

impl Accept {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let context = InstallContext::open(&self.file)?;
        let lock = context.plugins.load_lockfile()?;
        let id = context.find(&lock, &self.name)?;
        let entry = lock.get(&id).context("the plugin is not installed any more")?;
        let staged = entry.staged.as_ref().with_context(|| {
            format!(
                "[{id}] nothing waits to be accepted; `portcullis plugin update {}` looks for a newer version",
                id.name
            )
        })?;
        if let Some(wanted) = self.digest.as_deref().filter(|wanted| *wanted != staged.digest.as_str()) {
            anyhow::bail!("[{id}] {} waits, not {wanted}: review it again", staged.digest);
        }
        let loader = context.loader()?;
        let seen = context.read_unchanged(&loader, &staged.digest, &staged.definitions).await?;
        println!("[{id}] {} -> {}", entry.installed.digest, staged.digest);
        let warnings =
            difference(&context, &loader, entry, &compare_versions(&entry.installed, staged), &seen.offer).await;
        let command =
            format!("portcullis plugin accept {} --digest {}{}", id.table(), staged.digest, context.config_option);
        let news = staged.requests.added_to(&entry.installed.requests);
        let (requested, question) = (&staged.requests, "Accept it?");
        let ask = ConsentRequest {
            id: &id,
            folder: context.folder(),
            requested,
            news: &news,
            warnings,
            question,
            command: &command,
        };
        let Some(grants) = self.consent.get(entry.grants_table().clone(), &ask)? else {
            println!("The old version stays; `portcullis plugin update --discard {}` discards the new one.", id.name);
            return Ok(ExitCode::FAILURE);
        };
        context.plugins.accept(&id, &staged.digest, grants)?;
        println!("\n[{id}] is updated. {}", context.running);
        Ok(ExitCode::SUCCESS)
    }
}
