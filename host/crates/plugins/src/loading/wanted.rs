//! The plugins of the configuration: which version of each serves, what is being loaded for it, and what went wrong. Versions
//! that are ready go into the catalog.

use super::loader::Loader;
use crate::catalog::{Catalog, CatalogError, CurrentCatalog, Missing, MissingPlugins, Plugin};
use futures::FutureExt as _;
use policy::{PluginId, PluginSpec, Principal, Side};
use runtime::engine::{catch_panic, run_in_pool};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::sleep;

/// How long plugins that are ready wait for others that are ready soon, so that clients are notified of them together.
const TOGETHER: Duration = Duration::from_millis(20);

/// Why a plugin is loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    Start,
    /// Its configuration is new or has changed.
    Configuration,
    /// Its file has changed.
    File,
}

/// A plugin of the configuration.
pub(super) struct WantedPlugin {
    pub(super) spec: PluginSpec,
    /// The version that serves until there is a newer one.
    pub(super) current: Option<Arc<Plugin>>,
    /// A loaded version that is not in the catalog, or not yet.
    newer: Option<(Arc<Plugin>, Cause)>,
    /// The number of the load whose result counts.
    load: Option<u64>,
    /// Why there is no version, or no newer one.
    pub(super) error: Option<Arc<str>>,
}

/// The end of a load: the plugin, or none if its file has the bytes of the current version. The error is a sentence.
struct Loaded {
    number: u64,
    cause: Cause,
    result: Result<Option<Plugin>, String>,
}

pub(super) struct WantedPlugins {
    pub(super) loader: Arc<Loader>,
    pub(super) catalog: Arc<CurrentCatalog>,
    /// In the order of the configuration, and those that clients see first.
    pub(super) list: Vec<WantedPlugin>,
    loads: JoinSet<Loaded>,
    last_load: u64,
    /// True until all plugins were tried at the start. Until then it does not matter which plugin is ready first.
    pub(super) starting: bool,
    warnings: HashSet<String>,
}

impl WantedPlugin {
    pub(super) fn new(spec: PluginSpec, current: Option<Arc<Plugin>>) -> Self {
        Self { spec, current, newer: None, load: None, error: None }
    }

    pub(super) fn id(&self) -> &PluginId {
        &self.spec.id
    }

    /// The version that should serve.
    fn best(&self) -> Option<&Arc<Plugin>> {
        self.newer.as_ref().map(|(newer, _)| newer).or(self.current.as_ref())
    }

    /// Why it is missing if `chosen` serves. Nothing is missing while an older version serves.
    fn missing(&self, chosen: Option<&Arc<Plugin>>) -> Option<(String, Missing)> {
        let why = match (&self.error, self.load) {
            _ if chosen.is_some() => return None,
            (Some(error), _) => Missing::Failed(error.clone()),
            (None, Some(_)) => Missing::Loading,
            (None, None) => return None,
        };
        Some((self.id().table(), why))
    }

    /// Records why the loaded version cannot serve.
    fn refuse(&mut self, cause: Cause, error: String) {
        // A version that clashes is tried again whenever another plugin is loaded, and its error is logged once.
        if self.error.as_deref() == Some(&*error) {
            return;
        }
        let (id, path) = (&self.spec.id, self.spec.source.display());
        match (&self.current, cause) {
            (Some(_), Cause::File) => {
                tracing::error!("{path} changed but cannot be loaded, the old version stays: {error}")
            }
            (Some(_), Cause::Configuration) => tracing::error!(
                plugin = %id,
                "its configuration changed but cannot be loaded, the old version stays: {error}"
            ),
            (None, _) | (_, Cause::Start) => tracing::error!(plugin = %id, "it is not loaded: {error}"),
        }
        self.error = Some(error.into());
    }

    /// `chosen` serves from now on. Another version is kept, since the plugin that it clashes with may be removed.
    fn serve(&mut self, chosen: Option<&Arc<Plugin>>) {
        let is_chosen = |plugin: &Arc<Plugin>| chosen.is_some_and(|chosen| Arc::ptr_eq(chosen, plugin));
        if let Some((newer, cause)) = self.newer.take_if(|(newer, _)| is_chosen(newer)) {
            let (id, digest, path) = (self.id(), &newer.digest, self.spec.source.display());
            match cause {
                Cause::File => tracing::info!(plugin = %id, %digest, "reloaded: {path} changed"),
                Cause::Start | Cause::Configuration => tracing::debug!(plugin = %id, %digest, "loaded"),
            }
            (self.current, self.error) = (Some(newer), None);
        } else if let Some(unchosen) = self.current.take_if(|current| !is_chosen(current)) {
            self.newer.get_or_insert((unchosen, Cause::Start));
        }
    }
}

impl WantedPlugins {
    /// Starts to load all plugins.
    pub(super) fn start(loader: Arc<Loader>, catalog: Arc<CurrentCatalog>, specs: Vec<PluginSpec>) -> Self {
        let list: Vec<_> = specs.into_iter().map(|spec| WantedPlugin::new(spec, None)).collect();
        let (count, loads, warnings) = (list.len(), JoinSet::new(), HashSet::new());
        let mut plugins = Self { loader, catalog, list, loads, last_load: 0, starting: true, warnings };
        (0..count).for_each(|at| plugins.load(at, Cause::Start));
        plugins.publish();
        plugins
    }

    /// Starts to load a plugin. The result of a load that still runs for it no longer counts.
    pub(super) fn load(&mut self, at: usize, cause: Cause) {
        let Some(wanted) = self.list.get_mut(at) else { return };
        self.last_load += 1;
        wanted.load = Some(self.last_load);
        // The newer version may have been withdrawn, or its file may have changed again.
        wanted.newer = None;
        let (loader, spec, number) = (self.loader.clone(), wanted.spec.clone(), self.last_load);
        let current = wanted.current.clone().filter(|current| current.spec == spec);
        let owner = (Principal::host(), spec.id.clone());
        let load = async move {
            match current {
                Some(current) => loader.load_if_changed(&current).await,
                None => loader.load(spec).await.map(Some),
            }
        };
        let load = async move {
            let result = match catch_panic(load).await {
                Ok(loaded) => loaded.map_err(|error| error.to_string()),
                Err(error) => Err(error.to_string()),
            };
            Loaded { number, cause, result }
        };
        // Loading reads and hashes files, which must not delay requests.
        self.loads.spawn(run_in_pool(owner, load.boxed()));
    }

    pub(super) fn is_loading(&self) -> bool {
        self.list.iter().any(|wanted| wanted.load.is_some())
    }

    /// Waits for plugins that are loaded, without publishing them. False if none is being loaded.
    pub(super) async fn next_loaded(&mut self) -> bool {
        let Some(first) = self.loads.join_next().await else { return false };
        self.take(first.ok());
        let soon = sleep(TOGETHER);
        tokio::pin!(soon);
        while let Some(next) = tokio::select! {
            next = self.loads.join_next() => next,
            () = &mut soon => None,
        } {
            self.take(next.ok());
        }
        true
    }

    /// `loaded` is none for a task that was aborted with the runtime.
    fn take(&mut self, loaded: Option<Loaded>) {
        let Some(Loaded { number, cause, result }) = loaded else { return };
        let Some(wanted) = self.list.iter_mut().find(|wanted| wanted.load == Some(number)) else { return };
        wanted.load = None;
        let allowed = result.and_then(|plugin| match plugin {
            // It may have been withdrawn meanwhile.
            Some(plugin) => match self.loader.check_not_withdrawn(plugin.id(), &plugin.digest) {
                Ok(()) => Ok(Some(plugin)),
                Err(error) => Err(error.to_string()),
            },
            None => Ok(None),
        });
        match allowed {
            Ok(newer) => {
                if newer.is_none() {
                    tracing::debug!(plugin = %wanted.id(), "{} was touched, its bytes are the same", wanted.spec.source.display());
                }
                (wanted.newer, wanted.error) = (newer.map(|plugin| (Arc::new(plugin), cause)), None);
            }
            Err(error) => {
                (wanted.newer, wanted.error) = (None, None);
                wanted.refuse(cause, error);
            }
        }
    }

    /// Puts what is ready into the catalog. If plugins cannot be offered side by side, the one that already serves stays; at
    /// the start, the first one of the configuration.
    pub(super) fn publish(&mut self) {
        let Self { catalog, list, .. } = self;
        let (starting, mut chosen) = (self.starting, Vec::new());
        let updated = catalog.update(|now| {
            chosen = list.iter().map(|wanted| wanted.best().cloned()).collect();
            if to_catalog(now, &chosen, MissingPlugins::new()).is_err() {
                chosen = refuse_clashes(now, list, starting);
            }
            let missing = list.iter().zip(&chosen).filter_map(|(wanted, chosen)| wanted.missing(chosen.as_ref()));
            to_catalog(now, &chosen, missing.collect())
        });
        match updated {
            Ok(()) => self.list.iter_mut().zip(&chosen).for_each(|(wanted, chosen)| wanted.serve(chosen.as_ref())),
            Err(error) => tracing::error!("nothing is reloaded: {error}"),
        }
        self.starting &= self.is_loading();
        let mentions: HashSet<_> = self.catalog.snapshot().cross_plugin_mentions().into_iter().collect();
        for mention in mentions.difference(&self.warnings) {
            tracing::warn!("{mention}");
        }
        self.warnings = mentions;
    }
}

/// The versions that can be offered side by side. The others are refused.
fn refuse_clashes(now: &Catalog, list: &mut [WantedPlugin], starting: bool) -> Vec<Option<Arc<Plugin>>> {
    let mut refused = HashSet::new();
    loop {
        // Plugins that stay as they are come first.
        let stays = |(at, wanted): (usize, &WantedPlugin)| {
            let stays = !starting && (wanted.newer.is_none() || refused.contains(&at));
            wanted.current.clone().filter(|_| stays)
        };
        let mut chosen: Vec<_> = list.iter().enumerate().map(stays).collect();
        let clash = list.iter().enumerate().filter(|(at, _)| !refused.contains(at)).find_map(|(at, wanted)| {
            chosen[at] = wanted.best().cloned();
            to_catalog(now, &chosen, MissingPlugins::new()).err().map(|error| (at, error))
        });
        let Some((at, error)) = clash else { return chosen };
        let cause = list[at].newer.as_ref().map_or(Cause::Start, |(_, cause)| *cause);
        list[at].refuse(cause, error.to_string());
        refused.insert(at);
    }
}

fn to_catalog(now: &Catalog, chosen: &[Option<Arc<Plugin>>], missing: MissingPlugins) -> Result<Catalog, CatalogError> {
    let (exposed, agents) = chosen.iter().flatten().cloned().partition(|plugin| plugin.id().side == Side::Server);
    now.with_plugins(exposed, agents, missing)
}
