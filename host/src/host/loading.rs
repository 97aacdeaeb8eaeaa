//! The loader of plugins, and loading all plugins of a configuration.

use super::error::StartError;
use crate::config::Config;
use platform::clock::Clock;
use plugins::calls::NoTools;
use plugins::catalog::Plugin;
use plugins::loading::{LoadError, Loader};
use policy::PluginSpec;
use runtime::engine::{CompileCache, CompileWorker, Compiler, Engines};
use std::path::PathBuf;
use std::sync::Arc;
use tokio::task::JoinSet;

/// Builds a loader. Commands use it alone, to inspect components without serving them.
pub fn build_loader(config: &Config, clock: Arc<dyn Clock>) -> Result<Loader, StartError> {
    let cache = CompileCache::open(&config.cache)?;
    let worker = CompileWorker::new(worker_program()?);
    let compiler = Compiler::new(Arc::new(Engines::new()), cache, worker);
    let loader = Loader::new(compiler, clock, Arc::new(NoTools));
    loader.set_environment(config.host_environment());
    loader.set_withdrawn(config.load_withdrawn()?);
    Ok(loader)
}

/// The compile worker is the running binary itself, even if its file was replaced since it started.
fn worker_program() -> Result<PathBuf, StartError> {
    let path = std::env::current_exe().map_err(StartError::Worker)?;
    Ok(if cfg!(target_os = "linux") { PathBuf::from("/proc/self/exe") } else { path })
}

/// Loads plugins concurrently. The result is in the order of `specs`.
pub(super) async fn load_all(loader: Arc<Loader>, specs: Vec<PluginSpec>) -> Result<Vec<Arc<Plugin>>, StartError> {
    let mut loading = JoinSet::new();
    for (at, spec) in specs.into_iter().enumerate() {
        let loader = loader.clone();
        loading.spawn(async move { (at, loader.load(spec).await) });
    }
    let mut loaded: Vec<(usize, Result<Plugin, LoadError>)> = loading.join_all().await;
    loaded.sort_by_key(|(at, _)| *at);
    let (mut plugins, mut errors) = (Vec::new(), Vec::new());
    for (_, result) in loaded {
        match result {
            Ok(plugin) => plugins.push(Arc::new(plugin)),
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() { Ok(plugins) } else { Err(StartError::Load(errors)) }
}
