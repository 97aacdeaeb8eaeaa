//! `portcullis plugin update`.

use super::install_context::InstallContext;
use super::report;
use crate::cli::options::ConfigFile;
use crate::cli::terminal::show_work;
use crate::cli::text::{print_error, printable_lines};
use platform::telemetry::printable;
use plugins::install::{
    InstalledPlugin, Newest, PluginSource, PluginSources, Reference, UpdateOutcome, VersionChange, review,
};
use plugins::loading::Loader;
use policy::{Digest, PluginId};
use runtime::imports::Offer;
use std::process::ExitCode;

#[derive(clap::Args)]
pub(in crate::cli) struct Update {
    /// Names of the plugins. Default: all installed plugins.
    names: Vec<String>,
    /// Install this version, newer or older. Default: the highest version that is published. A pre-release only if one is installed.
    #[arg(long, value_name = "VERSION", conflicts_with = "discard")]
    to: Option<String>,
    /// Install a version that is lower than an earlier one.
    #[arg(long)]
    allow_downgrade: bool,
    /// Discard the staged version, and do not look for another one.
    #[arg(long, conflicts_with = "allow_downgrade")]
    discard: bool,
    #[command(flatten)]
    file: ConfigFile,
}

impl Update {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let context = InstallContext::open(&self.file)?;
        let lock = context.plugins.load_lockfile()?;
        let ids: Vec<PluginId> = match self.names.as_slice() {
            [] if self.discard => anyhow::bail!("name a plugin: portcullis plugin update --discard NAME"),
            [] => lock.iter().map(|(id, _)| id).collect(),
            names => names.iter().map(|name| context.find(&lock, name)).collect::<Result<_, _>>()?,
        };
        anyhow::ensure!(
            self.to.is_none() || self.names.len() == 1,
            "name the plugin: portcullis plugin update NAME --to VERSION"
        );
        let (loader, sources) = (context.loader()?, context.sources());
        let mut code = ExitCode::SUCCESS;
        for id in ids {
            let Some(entry) = lock.get(&id) else { continue };
            if self.discard {
                context.plugins.discard(&id)?;
                println!("[{id}] the staged version is discarded.");
                continue;
            }
            // An error does not stop the update of other plugins.
            if let Err(error) = self.one(&context, &loader, &sources, &id, entry).await {
                print_error(&format!("[{id}] {error:#}"));
                code = ExitCode::FAILURE;
            }
        }
        Ok(code)
    }

    async fn one(
        &self,
        context: &InstallContext,
        loader: &Loader,
        sources: &PluginSources,
        id: &PluginId,
        entry: &InstalledPlugin,
    ) -> anyhow::Result<()> {
        let wanted = match &self.to {
            Some(version) => other_version(entry, version)?,
            None => entry.reference.clone(),
        };
        let newest = match &self.to {
            Some(_) => sources.exactly(&wanted).await?,
            None => sources.newest(&wanted).await?,
        };
        if newest.digest == entry.installed.digest && self.to.is_some() && newest.reference != entry.reference {
            context.plugins.follow(id, &entry.installed.digest, &newest.reference)?;
            println!("[{id}] is {} now, which is the same component.", shown_version(&newest));
            return Ok(());
        }
        if newest.digest == entry.installed.digest {
            return repair(context, sources, id, entry, newest.note.as_deref()).await;
        }
        if entry.staged.as_ref().is_some_and(|staged| staged.digest == newest.digest) {
            println!(
                "[{id}] {} is staged already: portcullis plugin accept {}{}",
                newest.digest,
                id.table(),
                context.config_option
            );
            return Ok(());
        }
        let found = sources.fetch(&newest.reference).await?;
        let reviewing = review(loader, context.clock.as_ref(), found);
        let new = show_work(&format!("compiling and reading {}", newest.reference), reviewing).await?;
        let seen = &entry.installed.digest;
        match context.plugins.update(id, seen, (&newest.reference, &new), self.allow_downgrade)? {
            UpdateOutcome::Installed(changes) => {
                println!(
                    "[{id}] is updated to {}: {}. {}",
                    shown_version(&newest),
                    new.version.digest,
                    context.running
                );
                report::changes(&changes);
            }
            UpdateOutcome::Staged(changes) => {
                println!(
                    "[{id}] {} is staged until you accept it; the old version stays until then: {}",
                    shown_version(&newest),
                    new.version.digest
                );
                difference(context, loader, entry, &changes, &new.examined.offer).await;
                println!("  portcullis plugin accept {}{}", id.table(), context.config_option);
            }
        }
        Ok(())
    }
}

/// The reference of another version of an installed plugin.
fn other_version(entry: &InstalledPlugin, version: &str) -> anyhow::Result<String> {
    let reference = Reference::parse(&entry.reference)?;
    let other = reference.with_version(entry.installed.version.as_deref(), version);
    Ok(other.map_err(anyhow::Error::msg)?.to_string())
}

/// The version as its source names it.
pub(super) fn shown_version(newest: &Newest) -> String {
    let tag = Reference::parse(&newest.reference).ok().and_then(|reference| reference.tag().map(str::to_owned));
    tag.unwrap_or_else(|| printable(&newest.reference).into_owned())
}

/// Prints the differences to a newer version, and changed texts if the old component can be read. Returns warnings.
pub(super) async fn difference(
    context: &InstallContext,
    loader: &Loader,
    entry: &InstalledPlugin,
    changes: &[VersionChange],
    new: &Offer,
) -> Vec<String> {
    report::changes(changes);
    let old = match context.read_stored(loader, &entry.installed.digest).await {
        Ok((_, old)) => old.offer,
        Err(error) => {
            println!("      (cannot show the old texts: {})", printable_lines(&error.to_string()));
            Offer::default()
        }
    };
    report::changed_texts(&old, new);
    report::new_suspicions(&old, new)
}

/// Restores a component of the newest version that is missing or was changed.
async fn repair(
    context: &InstallContext,
    sources: &PluginSources,
    id: &PluginId,
    entry: &InstalledPlugin,
    note: Option<&str>,
) -> anyhow::Result<()> {
    let path = context.plugins.store().path(&entry.installed.digest);
    let intact =
        plugins::package::read_stored(&path).is_ok_and(|bytes| Digest::sha256(&bytes) == entry.installed.digest);
    if intact {
        match note {
            Some(note) => println!("[{id}] {} is unchanged; {note}.", printable(&entry.reference)),
            None => println!("[{id}] is up to date."),
        }
        return Ok(());
    }
    let found = sources.fetch(&entry.reference).await?;
    anyhow::ensure!(found.digest == entry.installed.digest, "the source has changed meanwhile: try again");
    context.plugins.repair(id, &found.bytes)?;
    println!("[{id}] its component was missing or changed, and has been restored as approved. {}", context.running);
    Ok(())
}
