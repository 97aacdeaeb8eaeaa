//! `portcullis plugin accept`.

use super::super::ConfigFile;
use super::consent::{Ask, Consent};
use super::ground::{Ground, RUNNING};
use super::update::difference;
use anyhow::Context;
use plugins::install::{changes, news};
use std::process::ExitCode;

#[derive(clap::Args)]
pub(in crate::cli) struct Accept {
    /// The plugin's name.
    name: String,
    /// Accept these bytes and no others, such as those that were looked at before.
    #[arg(long, value_name = "sha256:...")]
    digest: Option<String>,
    #[command(flatten)]
    consent: Consent,
    #[command(flatten)]
    file: ConfigFile,
}

impl Accept {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let ground = Ground::open(&self.file)?;
        let lock = ground.plugins.now()?;
        let id = ground.find(&lock, &self.name)?;
        let entry = lock.get(&id).context("it is gone")?;
        let staged = entry.staged.as_ref().with_context(|| {
            format!(
                "[{id}] nothing waits to be accepted; `portcullis plugin update {}` looks for something newer",
                id.name
            )
        })?;
        if let Some(wanted) = self.digest.as_deref().filter(|wanted| *wanted != staged.digest.as_str()) {
            anyhow::bail!("[{id}] {} waits, and not {wanted}: look at it again", staged.digest);
        }
        let loader = ground.loader()?;
        let seen = ground.same(&loader, &staged.digest, &staged.definitions).await?;
        println!("[{id}] {} -> {}", entry.installed.digest, staged.digest);
        let mind = difference(&ground, &loader, entry, &changes(&entry.installed, staged), &seen.offer).await;
        let command =
            format!("portcullis plugin accept {} --digest {}{}", id.table(), staged.digest, ground.config_option());
        let news = news(&entry.installed.requests, &staged.requests);
        let (requested, question) = (&staged.requests, "Take it up?");
        let ask = Ask { id: &id, requested, news: &news, mind, question, command: &command };
        let Some(grants) = self.consent.get(entry.grants_table().clone(), &ask)? else {
            println!("The old version stays; `portcullis plugin update --discard {}` forgets the new one.", id.name);
            return Ok(ExitCode::FAILURE);
        };
        ground.plugins.accept(&id, &staged.digest, grants)?;
        println!("\n[{id}] is updated. {RUNNING}");
        Ok(ExitCode::SUCCESS)
    }
}
