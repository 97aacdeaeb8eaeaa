//! Loads the plugins of the configuration when the host starts, and whenever a file changes. Each plugin is offered when it is
//! ready, and running calls end on the version that they began with.
//!
//! When a new version cannot be loaded, the old one stays and the reason is logged. But a plugin never keeps what was revoked:
//! if it cannot be loaded with fewer grants, it is removed.

use super::loader::Loader;
use super::wanted::{Cause, WantedPlugin, WantedPlugins};
use super::watch::FileWatch;
use crate::catalog::{Catalog, CurrentCatalog, Plugin};
use policy::{Extent, HostEnvironment, PluginSpec, WithdrawnList};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// How long a changed configuration waits for the plugins that it changes, so that they are replaced in one step. Bounded, so
/// that a plugin that takes longer, because it must be compiled, does not keep a revoked grant in force.
const ONE_STEP: Duration = Duration::from_secs(1);

/// The plugins that should be loaded.
pub struct PluginSet {
    /// Those that clients see, in order.
    pub plugins: Vec<PluginSpec>,
    /// Those that only other plugins see.
    pub agents: Vec<PluginSpec>,
    pub withdrawn: WithdrawnList,
    /// Values that grants refer to by name.
    pub environment: HostEnvironment,
}

/// Reads which plugins should be loaded; the error is a sentence.
pub type ReadPluginSet = Box<dyn FnMut() -> Result<PluginSet, String> + Send + Sync>;

pub struct PluginReloader {
    plugins: WantedPlugins,
    watch: FileWatch,
}

impl PluginReloader {
    /// Starts to load plugins: those that clients see, then those that only other plugins see.
    pub fn start(loader: Arc<Loader>, catalog: Arc<CurrentCatalog>, specs: Vec<PluginSpec>) -> Self {
        // The watch begins before the files are read, so that no change is missed.
        let watch = FileWatch::new(specs.iter().map(|spec| spec.source.clone()));
        Self { plugins: WantedPlugins::start(loader, catalog, specs), watch }
    }

    /// Waits until each plugin is loaded, or cannot be. Returns the reasons.
    pub async fn finish(&mut self) -> Vec<String> {
        while self.plugins.next_loaded().await {
            self.plugins.publish();
        }
        self.plugins.list.iter().filter_map(|wanted| wanted.error.as_deref().map(str::to_owned)).collect()
    }

    /// Reloads plugins whose file or configuration changes, as long as it runs. When one of `config_files` changes, `read_set`
    /// is called.
    pub async fn run(self, config_files: Vec<PathBuf>, mut read_set: ReadPluginSet) {
        let Self { mut plugins, mut watch } = self;
        watch.add(config_files.iter().cloned());
        // The configuration may have changed since it was read.
        reload_config(&mut plugins, &mut watch, &mut read_set).await;
        loop {
            tokio::select! {
                changed = watch.changed() => {
                    if config_files.iter().any(|file| changed.contains(file)) {
                        reload_config(&mut plugins, &mut watch, &mut read_set).await;
                    }
                    reload_components(&mut plugins, &changed);
                }
                true = plugins.next_loaded() => {}
            }
            plugins.publish();
        }
    }
}

/// Loads plugins that were added or changed in the configuration, and removes those that are no longer in it.
async fn reload_config(plugins: &mut WantedPlugins, watch: &mut FileWatch, read_set: &mut ReadPluginSet) {
    let set = match read_set() {
        Ok(set) => set,
        Err(reason) => {
            return tracing::error!(
                "the configuration or the installed plugins changed, but nothing is reloaded until this is fixed: {reason}"
            );
        }
    };
    plugins.loader.set_withdrawn(set.withdrawn);
    plugins.loader.set_environment(set.environment);
    let specs: Vec<_> = set.plugins.into_iter().chain(set.agents).collect();
    watch.add(specs.iter().map(|spec| spec.source.clone()));
    let mut before = std::mem::take(&mut plugins.list);
    for spec in specs {
        let old = before.iter().position(|old| *old.id() == spec.id).map(|at| before.swap_remove(at));
        let same = old.as_ref().is_some_and(|old| old.spec == spec);
        let mut wanted = match old {
            Some(old) if same => old,
            old => WantedPlugin::new(spec, old.and_then(|old| old.current)),
        };
        let stays = wanted.current.as_ref().is_none_or(|current| may_stay(&plugins.loader, current, &wanted.spec));
        let load = !same || !stays || wanted.error.is_some();
        if !stays {
            wanted.current = None;
        }
        plugins.list.push(wanted);
        if load {
            plugins.load(plugins.list.len() - 1, Cause::Configuration);
        }
    }
    let in_one_step = async { while plugins.is_loading() && plugins.next_loaded().await {} };
    // Plugins that are not loaded by then follow later.
    let _ = tokio::time::timeout(ONE_STEP, in_one_step).await;
    let (before, starting) = (plugins.catalog.snapshot(), plugins.starting);
    plugins.publish();
    let now = plugins.catalog.snapshot();
    if !starting && !has_same_plugins(&before, &now) {
        let names = |plugins: &[Arc<Plugin>]| plugins.iter().map(|it| it.id().table()).collect::<Vec<_>>().join(", ");
        let (exposed, agents) = (names(now.plugins()), names(now.agent_plugins()));
        tracing::info!("reloaded: new calls use the current grants; plugins: {exposed}; agent: {agents}");
    }
}

/// Loads plugins whose file changed, and those that could not be loaded: the change may have removed the obstacle.
fn reload_components(plugins: &mut WantedPlugins, changed: &[PathBuf]) {
    for at in 0..plugins.list.len() {
        let Some(wanted) = plugins.list.get(at) else { continue };
        if changed.contains(&wanted.spec.source) || wanted.error.is_some() {
            plugins.load(at, Cause::File);
        }
    }
}

/// Whether a plugin that is not loaded with its new configuration may stay loaded with the old one: only if the new one
/// revokes nothing. Otherwise it fails closed: what an operator revokes must be gone, whatever else is wrong.
fn may_stay(loader: &Loader, old: &Plugin, wanted: &PluginSpec) -> bool {
    let with_old_grants = PluginSpec { grants: old.spec.grants.clone(), ..wanted.clone() };
    with_old_grants == old.spec
        && old.spec.grants.is_within(&wanted.grants)
        && loader.check_not_withdrawn(old.id(), &old.digest).is_ok()
}

fn has_same_plugins(one: &Catalog, other: &Catalog) -> bool {
    let same = |(one, other): (&Arc<Plugin>, &Arc<Plugin>)| Arc::ptr_eq(one, other);
    one.all_plugins().count() == other.all_plugins().count() && one.all_plugins().zip(other.all_plugins()).all(same)
}
