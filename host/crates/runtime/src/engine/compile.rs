//! Compiles and loads components: from the cache if possible, otherwise in the compile worker.

use super::artifact;
use super::cache::{CacheEntry, CompileCache, TrustedCode};
use super::profile::{Engines, Profile};
use super::worker::CompileWorker;
use std::sync::Arc;
use tokio::sync::Semaphore;
use wasmtime::Engine;
use wasmtime::component::Component;

/// Workers at once. Bounds memory while many new components are compiled.
const MAX_WORKERS: usize = 2;

/// Why a component was not compiled or loaded, for the operator.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct CompileError(String);

pub struct Compiler {
    engines: Arc<Engines>,
    cache: CompileCache,
    worker: CompileWorker,
    workers: Semaphore,
}

/// A component from the cache.
pub struct CachedComponent {
    pub component: Component,
    /// As given to [`CompiledComponent::save`].
    pub description: Vec<u8>,
}

/// A component that was just compiled and is not in the cache yet.
pub struct CompiledComponent<'a> {
    pub component: Component,
    compiler: &'a Compiler,
    fingerprint: String,
    code: TrustedCode,
}

impl Compiler {
    pub fn new(engines: Arc<Engines>, cache: CompileCache, worker: CompileWorker) -> Self {
        Self { engines, cache, worker, workers: Semaphore::new(MAX_WORKERS) }
    }

    pub fn engine(&self, profile: Profile) -> Result<&Engine, CompileError> {
        self.engines.get(profile).map_err(CompileError)
    }

    /// Live instances of all components.
    pub fn instances(&self) -> u64 {
        self.engines.instances()
    }

    /// The component with this digest, if it is in the cache for this engine.
    pub fn cached(&self, digest: &str, profile: Profile) -> Result<Option<CachedComponent>, CompileError> {
        let engine = self.engine(profile)?;
        let fingerprint = self.engines.fingerprint(profile).map_err(CompileError)?;
        let Some(entry) = self.cache.get(digest, fingerprint) else { return Ok(None) };
        match artifact::load(engine, &entry.code) {
            Ok(component) => Ok(Some(CachedComponent { component, description: entry.description })),
            Err(error) => {
                tracing::warn!(digest, "cached code does not load, compiling again: {error:#}");
                Ok(None)
            }
        }
    }

    /// The description that was saved with the component of this digest. Does not load its code.
    pub fn cached_description(&self, digest: &str, profile: Profile) -> Option<Vec<u8>> {
        let fingerprint = self.engines.fingerprint(profile).ok()?;
        self.cache.get(digest, fingerprint).map(|entry| entry.description)
    }

    /// Compiles a component in the worker, without saving it.
    pub async fn compile(&self, component: &[u8], profile: Profile) -> Result<CompiledComponent<'_>, CompileError> {
        let _worker = self.workers.acquire().await.map_err(|error| CompileError(error.to_string()))?;
        let engine = self.engine(profile)?;
        let fingerprint = self.engines.fingerprint(profile).map_err(CompileError)?.to_owned();
        let code = self.worker.compile(component, profile).await.map_err(CompileError)?;
        let component = artifact::load(engine, &code).map_err(|error| CompileError(format!("{error:#}")))?;
        Ok(CompiledComponent { component, compiler: self, fingerprint, code })
    }
}

impl CompiledComponent<'_> {
    /// Saves the component in the cache, with a description. If that fails, the next start only takes longer.
    pub fn save(self, digest: &str, description: Vec<u8>) {
        let entry = CacheEntry { code: self.code, description };
        if let Err(error) = self.compiler.cache.put(digest, &self.fingerprint, &entry) {
            tracing::warn!(%error, "cannot write compiled code to the cache");
        }
    }
}
