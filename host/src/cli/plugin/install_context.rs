//! The context of all commands for installed plugins: configuration, lock file and store.

use crate::cli::options::ConfigFile;
use crate::config::Config;
use crate::host;
use anyhow::Context;
use platform::clock::{Clock, SystemClock};
use plugins::install::{ComponentStore, Installer, Lockfile, PluginSources};
use plugins::loading::{ExaminedComponent, Loader};
use plugins::offer::definitions_digest;
use policy::{Digest, PluginId};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How a running server learns of a change.
pub(in crate::cli) fn how_running_servers_change(config: &Config) -> &'static str {
    if config.locks_grants {
        "A running `portcullis serve` reloads by itself; what allows more waits for `portcullis policy confirm`, since `server.grants` is \"locked\"."
    } else {
        "A running `portcullis serve` reloads by itself, unless `server.reload` is false."
    }
}

pub(super) struct InstallContext {
    /// Without installed plugins, so that a damaged component can be repaired or removed.
    pub(super) config: Config,
    pub(super) plugins: Installer,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) lock: PathBuf,
    file: PathBuf,
    /// ` --config FILE`, unless it is the default.
    pub(super) config_option: String,
    /// Tells how a running server learns of a change.
    pub(super) running: &'static str,
}

impl InstallContext {
    pub(super) fn open(file: &ConfigFile) -> anyhow::Result<Self> {
        let config = Config::load_without_lockfile(&file.config)?.with_own_state();
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let state = config.state.as_deref();
        let state = state.context("no state folder to keep components in: set PORTCULLIS_STATE or server.state")?;
        let lock = config.lockfile.clone().with_context(|| {
            format!(
                "{} is no file, beside which something could be installed: write the configuration into one",
                file.config.display()
            )
        })?;
        let audit = host::open_audit(&config)?;
        let plugins = Installer::new(lock.clone(), ComponentStore::new(state), audit, clock.clone());
        let (config_option, running) = (file.as_option(), how_running_servers_change(&config));
        Ok(Self { config, plugins, clock, lock, file: file.config.clone(), config_option, running })
    }

    /// The folder of everything that is kept for this configuration.
    pub(super) fn state(&self) -> &Path {
        self.config.state.as_deref().unwrap_or(Path::new(""))
    }

    /// That of the configuration file.
    pub(super) fn folder(&self) -> &Path {
        self.lock.parent().unwrap_or(Path::new("."))
    }

    pub(super) fn loader(&self) -> anyhow::Result<Loader> {
        Ok(host::build_loader(&self.config, self.clock.clone())?)
    }

    pub(super) fn sources(&self) -> PluginSources {
        PluginSources::new(self.config.sources.clone())
    }

    /// Finds an installed plugin by name.
    pub(super) fn find(&self, lock: &Lockfile, name: &str) -> anyhow::Result<PluginId> {
        if let Some(id) = lock.find(name) {
            return Ok(id);
        }
        let mut own = self.config.plugins.iter().chain(&self.config.agent).map(|spec| &spec.id);
        if let Some(id) = own.find(|id| id.is_named(name)) {
            anyhow::bail!(
                "[{id}] is configured in {}; change it there. This command is for installed plugins",
                self.file.display()
            );
        }
        anyhow::bail!("no plugin `{name}` is installed; `portcullis plugin list` lists all plugins")
    }

    /// Reads an approved or staged component from the store and checks its digest.
    pub(super) async fn read_stored(
        &self,
        loader: &Loader,
        digest: &Digest,
    ) -> anyhow::Result<(Vec<u8>, ExaminedComponent)> {
        let path = self.plugins.store().path(digest);
        let bytes = plugins::package::read_stored(&path)?;
        let found = Digest::sha256(&bytes);
        anyhow::ensure!(found == *digest, "{} is {found}: the file was changed after it was fetched", path.display());
        let seen = loader.examine(&path, &bytes).await?;
        Ok((bytes, seen))
    }

    /// Like [`Self::read_stored`], and checks that its definitions are unchanged.
    pub(super) async fn read_unchanged(
        &self,
        loader: &Loader,
        digest: &Digest,
        expected: &Digest,
    ) -> anyhow::Result<ExaminedComponent> {
        let (_, seen) = self.read_stored(loader, digest).await?;
        let found = definitions_digest(&seen.offer);
        anyhow::ensure!(found == *expected, "its definitions change each time they are read; do not use it");
        Ok(seen)
    }
}
