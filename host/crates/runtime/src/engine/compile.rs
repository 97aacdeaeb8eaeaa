//! From a component's bytes to a loaded component: the cache first, the worker otherwise.

use super::artifact;
use super::cache::{CompileCache, Entry};
use super::profile::{Engines, Profile};
use super::worker::CompileWorker;
use std::sync::Arc;
use tokio::sync::Semaphore;
use wasmtime::Engine;
use wasmtime::component::Component;

/// Workers at once. Bounds memory while many new components are compiled.
const WORKERS: usize = 2;

/// A component that could not be compiled or loaded; the text is for the operator.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct CompileError(String);

/// Compiles components, or finds them compiled.
pub struct Compiler {
    engines: Arc<Engines>,
    cache: CompileCache,
    worker: CompileWorker,
    slots: Semaphore,
}

/// A component found compiled, with the description kept beside it.
pub struct Cached {
    /// Loaded.
    pub component: Component,
    /// What [`Fresh::keep`] was given.
    pub description: Vec<u8>,
}

/// A component just compiled, not yet in the cache.
pub struct Fresh<'a> {
    /// Loaded.
    pub component: Component,
    compiler: &'a Compiler,
    fingerprint: String,
    code: super::cache::TrustedCode,
}

impl Compiler {
    /// Over a cache and a worker.
    pub fn new(engines: Arc<Engines>, cache: CompileCache, worker: CompileWorker) -> Self {
        Self { engines, cache, worker, slots: Semaphore::new(WORKERS) }
    }

    /// The engine of a profile.
    pub fn engine(&self, profile: Profile) -> Result<&Engine, CompileError> {
        self.engines.get(profile).map_err(CompileError)
    }

    /// Instances there are now of all that was compiled here.
    pub fn instances(&self) -> u64 {
        self.engines.instances()
    }

    /// The component with this digest, if an earlier run compiled it for this engine.
    pub fn cached(&self, digest: &str, profile: Profile) -> Result<Option<Cached>, CompileError> {
        let engine = self.engine(profile)?;
        let fingerprint = self.engines.fingerprint(profile).map_err(CompileError)?;
        let Some(entry) = self.cache.get(digest, fingerprint) else { return Ok(None) };
        match artifact::load(engine, &entry.code) {
            Ok(component) => Ok(Some(Cached { component, description: entry.description })),
            Err(error) => {
                tracing::warn!(digest, "cached code does not load: compiling again: {error:#}");
                Ok(None)
            }
        }
    }

    /// What was learned about the component with this digest when it was compiled, without loading its code.
    pub fn described(&self, digest: &str, profile: Profile) -> Option<Vec<u8>> {
        let fingerprint = self.engines.fingerprint(profile).ok()?;
        self.cache.get(digest, fingerprint).map(|entry| entry.description)
    }

    /// Compiles in the worker. `digest` need not be known: nothing is kept before [`Fresh::keep`].
    pub async fn compile(&self, component: &[u8], profile: Profile) -> Result<Fresh<'_>, CompileError> {
        let _slot = self.slots.acquire().await.map_err(|error| CompileError(error.to_string()))?;
        let engine = self.engine(profile)?;
        let fingerprint = self.engines.fingerprint(profile).map_err(CompileError)?.to_owned();
        let code = self.worker.compile(component, profile).await.map_err(CompileError)?;
        let component = artifact::load(engine, &code).map_err(|error| CompileError(format!("{error:#}")))?;
        Ok(Fresh { component, compiler: self, fingerprint, code })
    }
}

impl Fresh<'_> {
    /// Puts it into the cache together with what was learned about it. A cache that cannot be written costs time at
    /// the next start, nothing else.
    pub fn keep(self, digest: &str, description: Vec<u8>) {
        let entry = Entry { code: self.code, description };
        if let Err(error) = self.compiler.cache.put(digest, &self.fingerprint, &entry) {
            tracing::warn!(%error, "cannot keep compiled code in the cache");
        }
    }
}
