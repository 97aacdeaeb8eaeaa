//! Plugins that were installed, beside those of the configuration file: what the lock file has.

use super::{Config, ConfigError, PluginTable, plugin};
use plugins::install::{Entry, Lock, Store};
use policy::{PluginId, PluginSpec, Side, Withdrawn};
use std::path::Path;

impl Config {
    /// Reads a configuration file, and the lock file beside it.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        Self::load_alone(path)?.with_installed()
    }

    /// The same configuration with the plugins that the lock file has now.
    pub fn with_installed(mut self) -> Result<Self, ConfigError> {
        let Some(path) = self.lock.clone() else { return Ok(self) };
        let lock = Lock::load(&path)?;
        self.plugins.retain(|spec| !spec.is_installed());
        self.agent.retain(|spec| !spec.is_installed());
        for (id, entry) in lock.iter() {
            // Checked although it is disabled: a name that clashes is better known before it is enabled.
            let spec = self.installed(&path, &id, entry)?;
            let specs = match id.side {
                Side::Server => &mut self.plugins,
                Side::Agent => &mut self.agent,
            };
            if specs.iter().any(|spec| spec.id == id) || self.upstreams.iter().any(|it| it.name == id.name) {
                let message = "the configuration file has the same name; remove one of the two".to_owned();
                return Err(ConfigError::Table { path, table: id.table(), message });
            }
            if entry.enabled {
                specs.push(spec);
            }
        }
        Ok(self)
    }

    /// An installed plugin as any other, with its bytes and words pinned.
    pub fn installed(&self, lock: &Path, id: &PluginId, entry: &Entry) -> Result<PluginSpec, ConfigError> {
        let fail = |message: &str| ConfigError::Table {
            path: lock.to_owned(),
            table: id.table(),
            message: message.to_owned(),
        };
        let state = self
            .state
            .as_deref()
            .ok_or_else(|| fail("there is no state folder for its component: set PORTCULLIS_STATE or server.state"))?;
        let table = PluginTable {
            source: Store::component(state, &entry.installed.digest),
            digest: Some(entry.installed.digest.clone()),
            prefix: entry.prefix,
            private: entry.private,
            grants: entry.grants.clone(),
            limits: entry.limits.clone(),
        };
        let folder = lock.parent().unwrap_or(lock);
        let spec = plugin(id.side, id.name.clone(), table, lock, folder)?;
        Ok(PluginSpec { definitions: Some(entry.installed.definitions.clone()), ..spec })
    }

    /// The components that are withdrawn now.
    pub fn withdrawn(&self) -> Result<Withdrawn, ConfigError> {
        let list = Withdrawn::new(self.withdrawn.iter().cloned());
        let Some(path) = &self.withdrawn_file else { return Ok(list) };
        let fail = |message: String| ConfigError::Parse { path: path.clone(), message };
        let text = std::fs::read_to_string(path)
            .map_err(|error| fail(format!("server.withdrawn-file cannot be read: {error}")))?;
        list.and(&text).map_err(fail)
    }
}
