//! Taking up a component file that was replaced: build the new version beside the old, swap, let the old one run out.
//!
//! One reload at a time. A version that cannot be loaded changes nothing: the old one stays, and the reason is logged.

use super::current::CurrentCatalog;
use super::load::Loader;
use super::plugin::Plugin;
use super::watch::FileWatch;
use crate::policy::PluginId;
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

/// Reloads plugins whose files change.
pub struct Reloader {
    loader: Arc<Loader>,
    catalog: Arc<CurrentCatalog>,
    watch: FileWatch,
    /// Plugins whose file is newer than what runs, because it could not be taken up. Tried again with the next change:
    /// what was in the way may be gone then.
    behind: HashSet<PluginId>,
}

impl Reloader {
    /// For all plugins of a catalog; `watch` has their files.
    pub fn new(loader: Arc<Loader>, catalog: Arc<CurrentCatalog>, watch: FileWatch) -> Self {
        Self { loader, catalog, watch, behind: HashSet::new() }
    }

    /// Until it is dropped.
    pub async fn run(mut self) {
        loop {
            let changed = self.watch.changed().await;
            self.reload(&changed).await;
        }
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
