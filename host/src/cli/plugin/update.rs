//! `portcullis plugin update`.

use super::super::{ConfigFile, printable_lines};
use super::ground::{Ground, RUNNING};
use super::report;
use plugins::install::{Change, Entry, Source, Sources, Updated, review};
use plugins::registry::Loader;
use policy::{Digest, PluginId};
use runtime::imports::Offer;
use std::process::ExitCode;

#[derive(clap::Args)]
pub(in crate::cli) struct Update {
    /// Which plugins; none: all that are installed.
    names: Vec<String>,
    /// Take a version that is lower than one that was here before.
    #[arg(long)]
    allow_downgrade: bool,
    /// Forget what waits to be accepted, and look for nothing.
    #[arg(long, conflicts_with = "allow_downgrade")]
    discard: bool,
    #[command(flatten)]
    file: ConfigFile,
}

impl Update {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let ground = Ground::open(&self.file)?;
        let lock = ground.plugins.now()?;
        let ids: Vec<PluginId> = match self.names.as_slice() {
            [] if self.discard => anyhow::bail!("say of which plugin: portcullis plugin update --discard NAME"),
            [] => lock.iter().map(|(id, _)| id).collect(),
            names => names.iter().map(|name| ground.find(&lock, name)).collect::<Result<_, _>>()?,
        };
        let (loader, sources) = (ground.loader()?, ground.sources());
        let mut code = ExitCode::SUCCESS;
        for id in ids {
            let Some(entry) = lock.get(&id) else { continue };
            if self.discard {
                ground.plugins.discard(&id)?;
                println!("[{id}] what waited to be accepted is forgotten.");
                continue;
            }
            // One that cannot be updated is no reason to leave the others as they are.
            if let Err(error) = self.one(&ground, &loader, &sources, &id, entry).await {
                eprintln!("error: [{id}] {}", printable_lines(&format!("{error:#}")));
                code = ExitCode::FAILURE;
            }
        }
        Ok(code)
    }

    async fn one(
        &self,
        ground: &Ground,
        loader: &Loader,
        sources: &Sources,
        id: &PluginId,
        entry: &Entry,
    ) -> anyhow::Result<()> {
        let newest = sources.newest(&entry.reference).await?;
        if newest == entry.installed.digest {
            return repair(ground, sources, id, entry).await;
        }
        if entry.staged.as_ref().is_some_and(|staged| staged.digest == newest) {
            println!(
                "[{id}] {newest} waits for you already: portcullis plugin accept {}{}",
                id.table(),
                ground.config_option()
            );
            return Ok(());
        }
        let found = sources.fetch(&entry.reference).await?;
        let new = review(loader, ground.clock.as_ref(), found).await?;
        let seen = &entry.installed.digest;
        match ground.plugins.update(id, seen, &new, self.allow_downgrade)? {
            Updated::Swapped(changes) => {
                println!("[{id}] is updated to {}. {RUNNING}", new.version.digest);
                report::changes(&changes);
            }
            Updated::Staged(changes) => {
                println!("[{id}] {} waits for you; the old version stays until then.", new.version.digest);
                difference(ground, loader, entry, &changes, &new.examined.offer).await;
                println!("  portcullis plugin accept {}{}", id.table(), ground.config_option());
            }
        }
        Ok(())
    }
}

/// Shows what differs, its words about itself included as far as the old ones can still be had; what of it should not be
/// overlooked.
pub(super) async fn difference(
    ground: &Ground,
    loader: &Loader,
    entry: &Entry,
    changes: &[Change],
    new: &Offer,
) -> Vec<String> {
    report::changes(changes);
    let old = match ground.kept(loader, &entry.installed.digest).await {
        Ok((_, old)) => old.offer,
        Err(error) => {
            println!("      (what it said before cannot be shown: {})", printable_lines(&error.to_string()));
            Offer::default()
        }
    };
    report::words_changed(&old, new);
    report::newly_odd(&old, new)
}

/// Nothing is newer; a component that is gone or was changed is put back.
async fn repair(ground: &Ground, sources: &Sources, id: &PluginId, entry: &Entry) -> anyhow::Result<()> {
    let path = ground.plugins.store().path(&entry.installed.digest);
    let intact = plugins::package::read_kept(&path).is_ok_and(|bytes| Digest::of(&bytes) == entry.installed.digest);
    if intact {
        println!("[{id}] is up to date.");
        return Ok(());
    }
    let found = sources.fetch(&entry.reference).await?;
    anyhow::ensure!(found.digest == entry.installed.digest, "it has changed meanwhile: try again");
    ground.plugins.repair(id, &found.bytes)?;
    println!("[{id}] its component was gone or changed, and is back as you agreed to it. {RUNNING}");
    Ok(())
}
