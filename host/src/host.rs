//! The composition root: builds every part from a [`Config`] and wires traits to their implementations.

use crate::agent::{LocalAgent, Nobody};
use crate::changes::Changes;
use crate::clock::{Clock, SystemClock};
use crate::config::Config;
use crate::engine::{CacheError, CompileCache, CompileWorker, Compiler, Engines};
use crate::imports::{Keepers, ToolCaller};
use crate::policy::PluginSpec;
use crate::registry::{Catalog, CatalogError, CurrentCatalog, FileWatch, LoadError, Loader, Plugin, Reloader, Runner};
use crate::shelf::Shelf;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::task::JoinSet;

/// A host that could not start.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's sentence is that of the error inside")]
pub enum StartError {
    #[error(transparent)]
    Cache(#[from] CacheError),
    #[error("{}", .0.iter().map(|error| error.to_string()).collect::<Vec<_>>().join("\n"))]
    Load(Vec<LoadError>),
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    #[error("the host's own binary cannot be found, so nothing can be compiled: {0}")]
    Worker(std::io::Error),
}

/// A running host: plugins loaded, ready for calls.
pub struct Host {
    /// What is offered now.
    pub catalog: Arc<CurrentCatalog>,
    /// Who answers reverse calls.
    pub agent: Arc<dyn ToolCaller>,
    /// Who runs calls.
    pub runner: Arc<Runner>,
    /// What calls left behind.
    pub shelf: Arc<Shelf>,
    /// Where changes are told.
    pub changes: Changes,
    loader: Arc<Loader>,
    watch: FileWatch,
}

impl Host {
    /// Loads all plugins. Any that cannot be loaded is an error: a tool that silently is not there is worse.
    pub async fn start(config: &Config) -> Result<Self, StartError> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let loader = Arc::new(loader(config, clock.clone())?);
        let specs: Vec<PluginSpec> = config.plugins.iter().chain(&config.agent).cloned().collect();
        let watch = FileWatch::new(specs.iter().map(|spec| spec.source.clone()));
        let mut plugins = load_all(loader.clone(), specs).await?;
        let agents = plugins.split_off(config.plugins.len());
        let changes = Changes::new();
        let shelf = Arc::new(Shelf::new(clock.clone(), changes.clone()));
        let keepers = Keepers { publisher: shelf.clone(), events: shelf.clone() };
        let catalog = Arc::new(CurrentCatalog::new(Catalog::new(plugins, agents)?, changes.clone()));
        let runner = Arc::new(Runner::new(clock, keepers));
        let agent = Arc::new(LocalAgent::new(runner.clone(), catalog.clone()));
        Ok(Self { catalog, agent, runner, shelf, changes, loader, watch })
    }

    /// What takes up component files that change, for as long as it runs.
    pub fn reloader(&self) -> Reloader {
        Reloader::new(self.loader.clone(), self.catalog.clone(), self.watch.clone())
    }
}

/// A loader alone, for looking at components without serving them.
pub fn loader(config: &Config, clock: Arc<dyn Clock>) -> Result<Loader, StartError> {
    let cache = CompileCache::open(&config.cache)?;
    let worker = CompileWorker::new(worker_program()?);
    Ok(Loader::new(Compiler::new(Arc::new(Engines::new()), cache, worker), clock, Arc::new(Nobody)))
}

/// The compile worker is this very binary.
fn worker_program() -> Result<PathBuf, StartError> {
    std::env::current_exe().map_err(StartError::Worker)
}

/// Loads plugins side by side, in the order of `specs`.
async fn load_all(loader: Arc<Loader>, specs: Vec<PluginSpec>) -> Result<Vec<Arc<Plugin>>, StartError> {
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
