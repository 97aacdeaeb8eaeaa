//! Reloads plugins whose component file was replaced, or whose configuration changed: loads the new version, replaces the
//! catalog, and lets running calls end on the old version.
//!
//! One reload at a time. When a new version cannot be loaded, the old one stays and the reason is logged. But a plugin never
//! keeps what was revoked: if it cannot be loaded with less, it is removed.

use super::loader::Loader;
use super::watch::FileWatch;
use crate::catalog::{CatalogError, CurrentCatalog, Plugin};
use policy::{HostEnvironment, PluginId, PluginSpec, WithdrawnList};
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

/// The plugins that should be loaded.
pub struct PluginSet {
    /// Those that clients see, in order.
    pub plugins: Vec<PluginSpec>,
    /// Those that only other plugins see.
    pub agents: Vec<PluginSpec>,
    pub withdrawn: WithdrawnList,
    /// Values of grants that only name them.
    pub environment: HostEnvironment,
}

/// Reads which plugins should be loaded; the error is a sentence.
pub type ReadPluginSet = Box<dyn FnMut() -> Result<PluginSet, String> + Send + Sync>;

pub struct Reloader {
    loader: Arc<Loader>,
    catalog: Arc<CurrentCatalog>,
    watch: FileWatch,
    /// Plugins whose file is newer than the loaded version, because it could not be loaded. Tried again with the next
    /// change, which may have removed the obstacle.
    outdated: HashSet<PluginId>,
    /// The files from which `read_set` reads.
    config_files: Vec<PathBuf>,
    read_set: ReadPluginSet,
}

impl Reloader {
    /// `watch` has the files of all plugins of the catalog. When one of `config_files` changes, `read_set` is called.
    pub fn new(
        loader: Arc<Loader>,
        catalog: Arc<CurrentCatalog>,
        mut watch: FileWatch,
        config_files: Vec<PathBuf>,
        read_set: ReadPluginSet,
    ) -> Self {
        watch.add(config_files.iter().cloned());
        Self { loader, catalog, watch, outdated: HashSet::new(), config_files, read_set }
    }

    /// Runs until it is dropped.
    pub async fn run(mut self) {
        // The configuration may have changed since the plugins were loaded.
        self.reload_config().await;
        loop {
            let changed = self.watch.changed().await;
            if self.config_files.iter().any(|file| changed.contains(file)) {
                self.reload_config().await;
            }
            self.reload_components(&changed).await;
        }
    }

    /// Loads plugins that were added or changed in the configuration, and removes those that are no longer in it.
    async fn reload_config(&mut self) {
        let wanted = match (self.read_set)() {
            Ok(wanted) => wanted,
            Err(reason) => {
                return tracing::error!(
                    "the configuration or the installed plugins changed, but nothing is reloaded until this is fixed: {reason}"
                );
            }
        };
        self.loader.set_withdrawn(wanted.withdrawn);
        self.loader.set_environment(wanted.environment);
        let current = self.catalog.snapshot();
        self.watch.add(wanted.plugins.iter().chain(&wanted.agents).map(|spec| spec.source.clone()));
        let plugins = self.load_all(wanted.plugins, current.plugins()).await;
        let agents = self.load_all(wanted.agents, current.agent_plugins()).await;
        let is_same = |new: &[Arc<Plugin>], old: &[Arc<Plugin>]| {
            new.len() == old.len() && new.iter().zip(old).all(|(new, old)| Arc::ptr_eq(new, old))
        };
        if is_same(&plugins, current.plugins()) && is_same(&agents, current.agent_plugins()) {
            return;
        }
        let names =
            |plugins: &[Arc<Plugin>]| plugins.iter().map(|plugin| plugin.id().table()).collect::<Vec<_>>().join(", ");
        let (exposed, agent_side) = (names(&plugins), names(&agents));
        match self.catalog.update(|current| current.with_plugins(plugins, agents)) {
            Ok(()) => {
                tracing::info!("reloaded: new calls use the current grants; plugins: {exposed}; agent: {agent_side}")
            }
            Err(error) => tracing::error!("the configuration changed, but nothing is reloaded: {error}"),
        }
    }

    async fn load_all(&self, specs: Vec<PluginSpec>, old: &[Arc<Plugin>]) -> Vec<Arc<Plugin>> {
        let mut loaded_plugins = Vec::new();
        for spec in specs {
            let id = spec.id.clone();
            let previous = old.iter().find(|old| *old.id() == id);
            let loaded = match previous.filter(|old| old.spec == spec) {
                Some(old) => self.loader.check_not_withdrawn(&id, &old.digest).map(|()| old.clone()),
                None => self.loader.load(spec.clone()).await.map(Arc::new),
            };
            match loaded {
                Ok(plugin) => loaded_plugins.push(plugin),
                Err(error) => match previous.filter(|old| self.may_stay(old, &spec)) {
                    Some(old) => {
                        tracing::error!(plugin = %id, "its configuration changed but cannot be loaded, the old version stays: {error}");
                        loaded_plugins.push(old.clone());
                    }
                    None => tracing::error!(plugin = %id, "it is not loaded: {error}"),
                },
            }
        }
        loaded_plugins
    }

    /// Whether a plugin that cannot be loaded with its new configuration may stay loaded with the old one: only if the new
    /// one revokes nothing. Otherwise it fails closed: what an operator revokes must be gone, whatever else is wrong.
    fn may_stay(&self, old: &Plugin, wanted: &PluginSpec) -> bool {
        let with_old_grants = PluginSpec { grants: old.spec.grants.clone(), ..wanted.clone() };
        with_old_grants == old.spec
            && old.spec.grants.is_within(&wanted.grants)
            && self.loader.check_not_withdrawn(old.id(), &old.digest).is_ok()
    }

    async fn reload_components(&mut self, changed: &[PathBuf]) {
        let catalog = self.catalog.snapshot();
        let mut newer = Vec::new();
        for old in catalog.all_plugins() {
            if !changed.contains(&old.spec.source) && !self.outdated.contains(old.id()) {
                continue;
            }
            let path = old.spec.source.display();
            match self.loader.load_if_changed(old).await {
                Ok(Some(new)) => newer.push(Arc::new(new)),
                Ok(None) => {
                    self.outdated.remove(old.id());
                    tracing::debug!(plugin = %old.id(), "{path} was touched, its bytes are the same");
                }
                Err(error) => {
                    self.outdated.insert(old.id().clone());
                    tracing::error!("{path} changed but cannot be loaded, the old version stays: {error}");
                }
            }
        }
        if !newer.is_empty() {
            let updated = self.catalog.update(|current| current.with_newer_versions(&newer));
            self.finish_reload(&newer, updated);
        }
    }

    fn finish_reload(&mut self, newer: &[Arc<Plugin>], updated: Result<(), CatalogError>) {
        match updated {
            Ok(()) => {
                for plugin in newer {
                    self.outdated.remove(plugin.id());
                    let (id, digest) = (plugin.id(), &plugin.digest);
                    tracing::info!(plugin = %id, %digest, "reloaded: {} changed", plugin.spec.source.display());
                }
            }
            Err(error) => {
                self.outdated.extend(newer.iter().map(|plugin| plugin.id().clone()));
                let files: Vec<_> = newer.iter().map(|plugin| plugin.spec.source.display().to_string()).collect();
                tracing::error!("{} changed but the old versions stay: {error}", files.join(", "));
            }
        }
    }
}
