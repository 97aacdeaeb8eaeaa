//! Compiles and loads components: from the cache if possible, otherwise in the compile worker.

use super::artifact;
use super::cache::CompileCache;
use super::detached_compile::compile_to_cache;
use super::incremental::{CompiledCode, build};
use super::profile::{Engines, Profile};
use super::worker::{CompileWorker, time_limit};
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
    /// Whether a compilation goes on when this process ends.
    detached: bool,
}

/// A component that was just compiled.
pub struct CompiledComponent<'a> {
    pub component: Component,
    compiler: &'a Compiler,
    /// The engine's fingerprint and the code, if it is not in the cache yet.
    unsaved: Option<(String, CompiledCode)>,
}

impl Compiler {
    pub fn new(engines: Arc<Engines>, cache: CompileCache, worker: CompileWorker) -> Self {
        Self { engines, cache, worker, workers: Semaphore::new(MAX_WORKERS), detached: false }
    }

    /// Lets compilations go on when this process ends, for the next one.
    #[must_use]
    pub fn detached(self) -> Self {
        Self { detached: true, ..self }
    }

    pub fn engine(&self, profile: Profile) -> Result<&Engine, CompileError> {
        self.engines.get(profile).map_err(CompileError)
    }

    /// Live instances of all components.
    pub fn instances(&self) -> u64 {
        self.engines.instances()
    }

    /// Whether the cache has code of the component with this digest for this engine. It may still be damaged.
    pub fn has_code(&self, digest: &str, profile: Profile) -> Result<bool, CompileError> {
        let fingerprint = self.engines.fingerprint(profile).map_err(CompileError)?;
        Ok(self.cache.has_code(digest, fingerprint))
    }

    /// The component with this digest, if the cache has its code for this engine.
    pub fn cached(&self, digest: &str, profile: Profile) -> Result<Option<Component>, CompileError> {
        let engine = self.engine(profile)?;
        let fingerprint = self.engines.fingerprint(profile).map_err(CompileError)?;
        let Some(code) = self.cache.code(digest, fingerprint) else { return Ok(None) };
        match artifact::load(engine, &code) {
            Ok(component) => Ok(Some(component)),
            Err(error) => {
                tracing::warn!(digest, "cached code does not load, compiling again: {error:#}");
                Ok(None)
            }
        }
    }

    /// What [`save_note`](Self::save_note) saved under this name.
    pub fn note(&self, name: &str) -> Option<Vec<u8>> {
        self.cache.note(name)
    }

    /// Saves a small text beside the code. If that fails, the next start only takes longer.
    pub fn save_note(&self, name: &str, note: &[u8]) {
        if let Err(error) = self.cache.put_note(name, note) {
            tracing::warn!(%error, "cannot write a note to the cache");
        }
    }

    /// Compiles a component in the worker, and saves its code if the compilation is detached.
    pub async fn compile(
        &self,
        component: &[u8],
        digest: &str,
        profile: Profile,
    ) -> Result<CompiledComponent<'_>, CompileError> {
        let _worker = self.workers.acquire().await.map_err(|error| CompileError(error.to_string()))?;
        let engine = self.engine(profile)?;
        let fingerprint = self.engines.fingerprint(profile).map_err(CompileError)?.to_owned();
        if self.detached {
            let wanted = (digest, fingerprint.as_str());
            let filing = compile_to_cache(&self.worker, &self.cache, component, wanted, profile);
            // Twice the limit: it may wait for the compilation of another host first, and then for its own.
            match tokio::time::timeout(2 * time_limit(component.len()), filing).await {
                Ok(filed) => filed.map_err(CompileError)?,
                Err(_) => tracing::warn!(digest, "the process that compiles it does not end, compiling it once more"),
            }
            if let Some(component) = self.cached(digest, profile)? {
                return Ok(CompiledComponent { component, compiler: self, unsaved: None });
            }
        }
        let compile = |bytes| async move { self.worker.compile(bytes, profile).await };
        let built = build(compile, &self.cache, component, &fingerprint).await.map_err(CompileError)?;
        let component = artifact::load(engine, &built.code).map_err(|error| CompileError(format!("{error:#}")))?;
        Ok(CompiledComponent { component, compiler: self, unsaved: Some((fingerprint, built)) })
    }
}

impl CompiledComponent<'_> {
    /// Saves the code in the cache. If that fails, the next start only takes longer.
    pub fn save(self, digest: &str) {
        let Some((fingerprint, built)) = self.unsaved else { return };
        if let Err(error) = built.save(&self.compiler.cache, digest, &fingerprint) {
            tracing::warn!(%error, "cannot write compiled code to the cache");
        }
    }
}
