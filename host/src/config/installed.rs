//! Adds the installed plugins of the lock file to the configuration.

use super::error::ConfigError;
use super::host_config::Config;
use super::resolve::Resolver;
use super::tables::PluginTable;
use plugins::install::{ComponentStore, InstalledPlugin, Lockfile};
use policy::{PluginId, PluginSpec, Side, note_enclosing};
use std::path::Path;

impl Config {
    /// Reads a configuration file and the lock file beside it.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        Self::load_without_lockfile(path)?.with_installed()
    }

    /// The same for a caller that is about to store something: the state folder is made the configuration's own.
    pub fn load_with_own_state(path: &Path) -> Result<Self, ConfigError> {
        Self::load_without_lockfile(path)?.with_own_state().with_installed()
    }

    /// Replaces the installed plugins by those that are in the lock file now.
    pub fn with_installed(mut self) -> Result<Self, ConfigError> {
        let Some(path) = self.lockfile.clone() else { return Ok(self.with_enclosing_noted()) };
        let lockfile = Lockfile::load(&path)?;
        self.plugins.retain(|spec| !spec.is_installed());
        self.agent.retain(|spec| !spec.is_installed());
        for (id, entry) in lockfile.iter() {
            // Disabled plugins are checked too, so that a name conflict is found before they are enabled.
            let spec = self.installed_plugin(&path, &id, entry)?;
            let specs = match id.side {
                Side::Server => &mut self.plugins,
                Side::Agent => &mut self.agent,
            };
            if specs.iter().any(|spec| spec.id == id) || self.upstreams.iter().any(|it| *it.name == *id.name) {
                let message = "the configuration file has the same name; remove one of the two".to_owned();
                return Err(ConfigError::Table { path, table: id.table(), message });
            }
            if entry.enabled {
                specs.push(spec);
            }
        }
        Ok(self.with_enclosing_noted())
    }

    /// Notes which granted directories lie in others, over all plugins.
    fn with_enclosing_noted(mut self) -> Self {
        let specs = self.plugins.iter_mut().chain(&mut self.agent);
        note_enclosing(&mut specs.map(|spec| &mut spec.grants).collect::<Vec<_>>());
        self
    }

    /// The specification of an installed plugin, with component and definitions pinned.
    pub fn installed_plugin(
        &self,
        lockfile: &Path,
        id: &PluginId,
        entry: &InstalledPlugin,
    ) -> Result<PluginSpec, ConfigError> {
        let resolver = Resolver { file: lockfile, folder: lockfile.parent().unwrap_or(lockfile) };
        let state = self.state.as_deref().ok_or_else(|| {
            resolver
                .error(id.table(), "there is no state folder for its component: set PORTCULLIS_STATE or server.state")
        })?;
        let table = PluginTable {
            source: ComponentStore::component_path(state, &entry.installed.digest),
            digest: Some(entry.installed.digest.clone()),
            prefix: entry.prefix,
            private: entry.private,
            grants: entry.grants.clone(),
            limits: entry.limits.clone(),
            idempotency: entry.idempotency.clone(),
        };
        let spec = resolver.plugin(id.side, &id.name, table)?;
        Ok(PluginSpec { definitions: Some(entry.installed.definitions.clone()), data: entry.data_key(id), ..spec })
    }
}
