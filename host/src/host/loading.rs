//! The loader of plugins.

use super::error::StartError;
use crate::config::Config;
use platform::clock::Clock;
use platform::telemetry::Metrics;
use plugins::calls::NoTools;
use plugins::components::{ComponentLibrary, HostBuild};
use plugins::loading::Loader;
use plugins::package::FileStamp;
use runtime::engine::{CompileCache, CompileWorker, Compiler, Engines};
use runtime::imports::wasi::make_ungranted_root;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// Builds a loader for a command that inspects components without serving them.
pub fn build_loader(config: &Config, clock: Arc<dyn Clock>) -> Result<Loader, StartError> {
    loader(config, build_compiler(CompileCache::open(&config.cache)?)?, clock, Arc::default())
}

/// Builds the loader of a host, whose clients may end it at any moment.
pub(super) fn build_serving_loader(
    config: &Config,
    clock: Arc<dyn Clock>,
    metrics: Arc<Metrics>,
) -> Result<Loader, StartError> {
    let cache = CompileCache::open(&config.cache)?;
    let old = cache.clone();
    tokio::task::spawn_blocking(move || old.prune());
    loader(config, build_compiler(cache)?.detached(), clock, metrics)
}

fn build_compiler(cache: CompileCache) -> Result<Compiler, StartError> {
    let worker = CompileWorker::new(worker_program()?);
    Ok(Compiler::new(Arc::new(Engines::new()), cache, worker))
}

fn loader(
    config: &Config,
    compiler: Compiler,
    clock: Arc<dyn Clock>,
    metrics: Arc<Metrics>,
) -> Result<Loader, StartError> {
    if let Err(error) = make_ungranted_root(&config.cache) {
        tracing::warn!("calls do not say which files they look for and are not granted: {error}");
    }
    let loader = Loader::new(ComponentLibrary::new(compiler, clock, Arc::new(NoTools), host_build()?, metrics));
    loader.set_environment(config.host_environment());
    loader.set_withdrawn(config.load_withdrawn()?);
    Ok(loader)
}

/// The version, and the stamp of the program's file, so that each build checks components itself.
fn host_build() -> Result<HostBuild, StartError> {
    let FileStamp { size, modified, inode, .. } = FileStamp::read(&worker_program()?).ok_or_else(no_program)?;
    Ok(HostBuild(format!("{} {size} {modified:?} {inode}", env!("CARGO_PKG_VERSION"))))
}

fn no_program() -> StartError {
    StartError::Worker(io::Error::from(io::ErrorKind::NotFound))
}

/// The compile worker is the running binary itself, even if its file was replaced since it started.
pub(crate) fn worker_program() -> Result<PathBuf, StartError> {
    let path = std::env::current_exe().map_err(StartError::Worker)?;
    Ok(if cfg!(target_os = "linux") { PathBuf::from("/proc/self/exe") } else { path })
}
