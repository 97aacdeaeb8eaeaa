//! Taking up a component file that was replaced, and what the files say now that name plugins and their grants: build the
//! new version beside the old, swap, let the old one run out.
//!
//! One reload at a time. A version that cannot be loaded changes nothing: the old one stays, and the reason is logged. But
//! what was taken away from a plugin is never left with it: if it cannot be loaded with less, it goes.

use super::current::CurrentCatalog;
use super::load::Loader;
use super::plugin::Plugin;
use super::watch::FileWatch;
use policy::{Machine, PluginId, PluginSpec, Withdrawn};
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

/// Everything that should be loaded.
pub struct Wanted {
    /// Exposed plugins, in order.
    pub plugins: Vec<PluginSpec>,
    /// Agent-side ones.
    pub agents: Vec<PluginSpec>,
    /// What must not be.
    pub withdrawn: Withdrawn,
    /// What this machine has for their grants.
    pub machine: Machine,
}

/// Says what should be loaded now; the error is a sentence.
pub type Reread = Box<dyn FnMut() -> Result<Wanted, String> + Send + Sync>;

/// Reloads plugins whose files change.
pub struct Reloader {
    loader: Arc<Loader>,
    catalog: Arc<CurrentCatalog>,
    watch: FileWatch,
    /// Plugins whose file is newer than what runs, because it could not be taken up. Tried again with the next change:
    /// what was in the way may be gone then.
    behind: HashSet<PluginId>,
    /// The files that say what should be loaded, and who reads them.
    lists: Vec<PathBuf>,
    reread: Reread,
}

impl Reloader {
    /// For all plugins of a catalog; `watch` has their files. When one of `lists` changes, `reread` says what should be
    /// loaded from then on.
    pub fn new(
        loader: Arc<Loader>,
        catalog: Arc<CurrentCatalog>,
        mut watch: FileWatch,
        lists: Vec<PathBuf>,
        reread: Reread,
    ) -> Self {
        watch.follow(lists.iter().cloned());
        Self { loader, catalog, watch, behind: HashSet::new(), lists, reread }
    }

    /// Until it is dropped.
    pub async fn run(mut self) {
        // The lists may have changed since they were read.
        self.refit().await;
        loop {
            let changed = self.watch.changed().await;
            if self.lists.iter().any(|list| changed.contains(list)) {
                self.refit().await;
            }
            self.reload(&changed).await;
        }
    }

    /// Loads what is new in the lists, and lets go of what is not there any more.
    async fn refit(&mut self) {
        let wanted = match (self.reread)() {
            Ok(wanted) => wanted,
            Err(why) => {
                return tracing::error!(
                    "the configuration or what is installed has changed, but all stays as it was until this is put right: {why}"
                );
            }
        };
        self.loader.refuse(wanted.withdrawn);
        self.loader.on(wanted.machine);
        let now = self.catalog.now();
        self.watch.follow(wanted.plugins.iter().chain(&wanted.agents).map(|spec| spec.source.clone()));
        let plugins = self.fitted(wanted.plugins, now.plugins()).await;
        let agents = self.fitted(wanted.agents, now.agents()).await;
        let same = |new: &[Arc<Plugin>], old: &[Arc<Plugin>]| {
            new.len() == old.len() && new.iter().zip(old).all(|(new, old)| Arc::ptr_eq(new, old))
        };
        if same(&plugins, now.plugins()) && same(&agents, now.agents()) {
            return;
        }
        let names = |plugins: &[Arc<Plugin>]| plugins.iter().map(|it| it.id().table()).collect::<Vec<_>>().join(", ");
        let (exposed, behind) = (names(&plugins), names(&agents));
        match self.catalog.update(|now| now.of(plugins, agents)) {
            Ok(()) => {
                tracing::info!("reloaded: new calls have what is granted now; plugins: {exposed}; agent: {behind}")
            }
            Err(error) => tracing::error!("what should be loaded has changed, but all stays as it was: {error}"),
        }
    }

    async fn fitted(&self, specs: Vec<PluginSpec>, old: &[Arc<Plugin>]) -> Vec<Arc<Plugin>> {
        let mut fitted = Vec::new();
        for spec in specs {
            let id = spec.id.clone();
            let before = old.iter().find(|old| *old.id() == id);
            let loaded = match before.filter(|old| old.spec == spec) {
                Some(old) => self.loader.allows(&id, &old.digest).map(|()| old.clone()),
                None => self.loader.load(spec.clone()).await.map(Arc::new),
            };
            match loaded {
                Ok(plugin) => fitted.push(plugin),
                Err(error) => match before.filter(|old| self.may_stay(old, &spec)) {
                    Some(old) => {
                        tracing::error!(plugin = %id, "it stays as it was, what was given to it cannot be taken up: {error}");
                        fitted.push(old.clone());
                    }
                    None => tracing::error!(plugin = %id, "it is not loaded: {error}"),
                },
            }
        }
        fitted
    }

    /// Whether a plugin that cannot be loaded as its line says now may go on as it is: only where that takes nothing away
    /// from it. Anything else fails closed: whoever revokes something wants it gone, whatever else is wrong.
    fn may_stay(&self, old: &Plugin, wanted: &PluginSpec) -> bool {
        let as_before = PluginSpec { grants: old.spec.grants.clone(), ..wanted.clone() };
        as_before == old.spec
            && old.spec.grants.within(&wanted.grants)
            && self.loader.allows(old.id(), &old.digest).is_ok()
    }

    async fn reload(&mut self, changed: &[PathBuf]) {
        let catalog = self.catalog.now();
        let mut newer = Vec::new();
        for old in catalog.all() {
            if !changed.contains(&old.spec.source) && !self.behind.contains(old.id()) {
                continue;
            }
            let cause = old.spec.source.display();
            match self.loader.newer(old).await {
                Ok(Some(new)) => newer.push(Arc::new(new)),
                Ok(None) => {
                    self.behind.remove(old.id());
                    tracing::debug!(plugin = %old.id(), "{cause} was touched, its bytes are the same");
                }
                Err(error) => {
                    self.behind.insert(old.id().clone());
                    tracing::error!("{cause} changed but cannot be loaded, the old version stays: {error}");
                }
            }
        }
        if !newer.is_empty() {
            let done = self.catalog.update(|now| now.with(&newer));
            self.take_up(&newer, done);
        }
    }

    fn take_up(&mut self, newer: &[Arc<Plugin>], done: Result<(), super::CatalogError>) {
        match done {
            Ok(()) => {
                for plugin in newer {
                    self.behind.remove(plugin.id());
                    let (id, digest) = (plugin.id(), &plugin.digest);
                    tracing::info!(plugin = %id, %digest, "reloaded: {} changed", plugin.spec.source.display());
                }
            }
            Err(error) => {
                self.behind.extend(newer.iter().map(|plugin| plugin.id().clone()));
                let files: Vec<_> = newer.iter().map(|plugin| plugin.spec.source.display().to_string()).collect();
                tracing::error!("{} changed but the old versions stay: {error}", files.join(", "));
            }
        }
    }
}
