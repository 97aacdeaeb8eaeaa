//! All components that plugins use: by digest, each linked once.

use super::description::{CompileResult, Description, HostBuild};
use super::error::ComponentError;
use super::file_index;
use super::single_flight::SingleFlight;
use crate::package::{ComponentFile, Digest, PackageError};
use platform::clock::Clock;
use platform::sync::Mutex;
use platform::telemetry::Metrics;
use policy::{Metering, PluginSpec};
use runtime::abi::{GuestLinker, LinkedComponent};
use runtime::engine::{Compiler, Component, Profile};
use runtime::imports::ToolCaller;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock, Weak};

/// The linker of one profile, or why there is none.
type LinkerCell = OnceLock<Result<GuestLinker, String>>;

pub struct ComponentLibrary {
    pub(super) compiler: Compiler,
    pub(super) clock: Arc<dyn Clock>,
    /// Answers reverse calls while a component is asked what it offers.
    pub(super) agent_tools: Arc<dyn ToolCaller>,
    pub(super) build: HostBuild,
    pub(crate) metrics: Arc<Metrics>,
    fuel: LinkerCell,
    ticks: LinkerCell,
    pub(super) compilations: SingleFlight<(Digest, Profile), CompileResult>,
    /// What is loaded now.
    linked: Mutex<HashMap<(Digest, Profile), Weak<LinkedComponent>>>,
}

impl ComponentLibrary {
    /// `agent_tools` answers reverse calls while a component is asked what it offers.
    pub fn new(
        compiler: Compiler,
        clock: Arc<dyn Clock>,
        agent_tools: Arc<dyn ToolCaller>,
        build: HostBuild,
        metrics: Arc<Metrics>,
    ) -> Self {
        let (fuel, ticks, compilations, linked) = Default::default();
        Self { compiler, clock, agent_tools, build, metrics, fuel, ticks, compilations, linked }
    }

    /// Live instances of all components.
    pub(crate) fn instances(&self) -> u64 {
        self.compiler.instances()
    }

    /// Opens the component file of a plugin. An installed one must belong to this user alone.
    pub(crate) fn open(spec: &PluginSpec) -> Result<ComponentFile, PackageError> {
        if spec.is_installed() { ComponentFile::open_stored(&spec.source) } else { ComponentFile::open(&spec.source) }
    }

    /// The digest of a file. The file is read only if it has changed, or if the cache has no code of it.
    pub(crate) fn digest(&self, file: &mut ComponentFile, profile: Profile) -> Result<Digest, ComponentError> {
        if let Some(digest) = file_index::find(&self.compiler, file)
            && self.compiler.has_code(digest.as_str(), profile)?
        {
            return Ok(digest);
        }
        Ok(file_index::hash(&self.compiler, self.clock.as_ref(), file)?)
    }

    /// The description of a plugin's component, which is compiled if the cache does not have its code.
    pub(crate) async fn description(
        &self,
        spec: &PluginSpec,
        file: &mut ComponentFile,
        digest: &Digest,
    ) -> Result<Arc<Description>, ComponentError> {
        let profile = spec.limits.metering;
        if let Some(description) = self.checked_description(digest, profile)? {
            return Ok(Arc::new(description));
        }
        Ok(self.describe(&spec.source, &spec.id, file.bytes()?, digest, profile).await?.1)
    }

    /// Returns a component that is linked already, or links its code from the cache; without such code it is compiled again.
    pub(super) async fn linked(
        self: &Arc<Self>,
        spec: &PluginSpec,
        digest: &Digest,
        profile: Profile,
    ) -> Result<Arc<LinkedComponent>, ComponentError> {
        let key = (digest.clone(), profile);
        if let Some(linked) = self.linked.lock().get(&key).and_then(Weak::upgrade) {
            return Ok(linked);
        }
        let (library, wanted) = (self.clone(), digest.clone());
        // Reading blocks, and code may be large.
        let read = tokio::task::spawn_blocking(move || library.link_cached(&wanted, profile));
        let linked = match read.await.map_err(|_| ComponentError::Stopped)?? {
            Some(linked) => linked,
            None => self.compile_again(spec, digest, profile).await?,
        };
        self.keep(digest, profile, &linked);
        Ok(linked)
    }

    /// A component whose code is in the cache.
    pub(super) fn link_cached(
        &self,
        digest: &Digest,
        profile: Profile,
    ) -> Result<Option<Arc<LinkedComponent>>, ComponentError> {
        let component = self.compiler.cached(digest.as_str(), profile)?;
        component.map(|component| self.link(profile, &component).map(Arc::new)).transpose()
    }

    async fn compile_again(
        &self,
        spec: &PluginSpec,
        digest: &Digest,
        profile: Profile,
    ) -> Result<Arc<LinkedComponent>, ComponentError> {
        let mut file = Self::open(spec)?;
        Ok(self.describe(&spec.source, &spec.id, file.bytes()?, digest, profile).await?.0)
    }

    fn keep(&self, digest: &Digest, profile: Profile, component: &Arc<LinkedComponent>) {
        let mut linked = self.linked.lock();
        linked.retain(|_, component| component.strong_count() > 0);
        linked.insert((digest.clone(), profile), Arc::downgrade(component));
    }

    pub(super) fn link(&self, profile: Profile, component: &Component) -> Result<LinkedComponent, ComponentError> {
        let linker = self.linker(profile)?;
        Ok(linker.link(component)?)
    }

    /// Makes the engine and the linker of a profile, which takes some milliseconds, so that the first call finds them made.
    pub(crate) fn warm_up(&self, profile: Profile) {
        // The first call reports the error.
        let _ = self.linker(profile);
    }

    fn linker(&self, profile: Profile) -> Result<&GuestLinker, ComponentError> {
        let cell = match profile {
            Metering::Fuel => &self.fuel,
            Metering::Ticks => &self.ticks,
        };
        let make = || {
            let engine = self.compiler.engine(profile).map_err(|error| error.to_string())?;
            GuestLinker::new(engine).map_err(|error| format!("{error:#}"))
        };
        cell.get_or_init(make).as_ref().map_err(|error| ComponentError::NoEngine(error.clone()))
    }
}
