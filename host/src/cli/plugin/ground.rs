//! What all commands on installed plugins stand on: the configuration without what is installed, the lock file, the store.

use super::super::ConfigFile;
use crate::config::Config;
use crate::host;
use anyhow::Context;
use platform::clock::{Clock, SystemClock};
use plugins::install::{Lock, Plugins, Sources, Store};
use plugins::registry::{Examined, Loader, definitions};
use policy::{Digest, PluginId};
use std::path::PathBuf;
use std::sync::Arc;

/// How a running server learns of a change.
pub(in crate::cli) const RUNNING: &str =
    "A running `portcullis serve` takes this up by itself, unless its `server.reload` is false.";

pub(super) struct Ground {
    /// Without what is installed, so that a damaged component can be repaired or removed.
    pub(super) config: Config,
    pub(super) plugins: Plugins,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) lock: PathBuf,
    file: PathBuf,
}

impl Ground {
    pub(super) fn open(file: &ConfigFile) -> anyhow::Result<Self> {
        let config = Config::load_alone(&file.config)?;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let state = config.state.as_deref();
        let state = state.context("no state folder to keep components in: set PORTCULLIS_STATE or server.state")?;
        let lock = config.lock.clone().context("the configuration file has no path")?;
        let audit = host::audit(&config)?;
        let plugins = Plugins::new(lock.clone(), Store::new(state), audit, clock.clone());
        Ok(Self { config, plugins, clock, lock, file: file.config.clone() })
    }

    /// What looks at components.
    pub(super) fn loader(&self) -> anyhow::Result<Loader> {
        Ok(host::loader(&self.config, self.clock.clone())?)
    }

    /// What brings them.
    pub(super) fn sources(&self) -> Sources {
        Sources::new(self.config.sources.clone())
    }

    /// An installed plugin by name.
    pub(super) fn find(&self, lock: &Lock, name: &str) -> anyhow::Result<PluginId> {
        if let Some(id) = lock.find(name) {
            return Ok(id);
        }
        let mut own = self.config.plugins.iter().chain(&self.config.agent).map(|spec| &spec.id);
        if let Some(id) = own.find(|id| id.name == name || id.table() == name) {
            anyhow::bail!(
                "[{id}] stands in {} and is changed there; this is for installed plugins",
                self.file.display()
            );
        }
        anyhow::bail!("no plugin `{name}` is installed; `portcullis plugin list` names those there are")
    }

    /// A component of the store, as it was agreed to or staged.
    pub(super) async fn kept(&self, loader: &Loader, digest: &Digest) -> anyhow::Result<(Vec<u8>, Examined)> {
        let path = self.plugins.store().path(digest);
        let bytes = plugins::package::read_kept(&path)?;
        let found = Digest::of(&bytes);
        anyhow::ensure!(found == *digest, "{} is {found}: it was changed after it was fetched", path.display());
        let seen = loader.examine(&path, &bytes).await?;
        Ok((bytes, seen))
    }

    /// The same, and it still says of itself what it said.
    pub(super) async fn same(&self, loader: &Loader, digest: &Digest, words: &Digest) -> anyhow::Result<Examined> {
        let (_, seen) = self.kept(loader, digest).await?;
        let found = definitions(&seen.offer);
        anyhow::ensure!(found == *words, "it says something else of its tools each time it is asked; do not use it");
        Ok(seen)
    }

    /// ` --config FILE`, where that is not the default.
    pub(super) fn config_option(&self) -> String {
        if self.file == std::path::Path::new(crate::config::DEFAULT_FILE) {
            return String::new();
        }
        format!(" --config {}", super::consent::quoted(&self.file.display().to_string()))
    }
}
