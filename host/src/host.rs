//! The composition root: builds every part from a [`Config`] and wires traits to their implementations.

use crate::agent::{LocalAgent, Nobody};
use crate::clock::{Clock, SystemClock};
use crate::config::Config;
use crate::engine::{CacheError, CompileCache, CompileWorker, Compiler, Engines};
use crate::imports::{ModelProvider, ToolCaller};
use crate::model::{ChatModel, ModelSetupError};
use crate::policy::PluginSpec;
use crate::registry::{Catalog, CatalogError, LoadError, Loader, Plugin, Runner};
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
    #[error(transparent)]
    Model(#[from] ModelSetupError),
}

/// A running host: plugins loaded, ready for calls.
pub struct Host {
    /// What is exposed.
    pub catalog: Arc<Catalog>,
    /// Agent-side plugins.
    pub agents: Vec<Arc<Plugin>>,
    /// Who answers reverse calls.
    pub agent: Arc<dyn ToolCaller>,
    /// Who runs calls.
    pub runner: Arc<Runner>,
}

impl Host {
    /// Loads all plugins. Any that cannot be loaded is an error: a tool that silently is not there is worse.
    pub async fn start(config: &Config) -> Result<Self, StartError> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let loader = Arc::new(loader(config, clock.clone())?);
        let specs = config.plugins.iter().chain(&config.agent).cloned().collect();
        let mut plugins = load_all(loader, specs).await?;
        let agents = plugins.split_off(config.plugins.len());
        let runner = Arc::new(Runner::new(clock.clone()).with_model(model(config, clock, &plugins, &agents)?));
        let agent = Arc::new(LocalAgent::new(runner.clone(), agents.clone()));
        Ok(Self { catalog: Arc::new(Catalog::new(plugins)?), agents, agent, runner })
    }
}

/// The host's own model, if there is one. A grant that counts on one in vain is worth a warning.
fn model(
    config: &Config,
    clock: Arc<dyn Clock>,
    plugins: &[Arc<Plugin>],
    agents: &[Arc<Plugin>],
) -> Result<Option<Arc<dyn ModelProvider>>, StartError> {
    let Some(settings) = &config.model else {
        for plugin in plugins.iter().chain(agents) {
            if plugin.authority.sample().is_ok_and(|grant| grant.fallback) {
                tracing::warn!(plugin = %plugin.id(), "`client.sample.fallback` has no effect: no [model] is configured");
            }
        }
        return Ok(None);
    };
    Ok(Some(Arc::new(ChatModel::open(settings, clock)?)))
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
