//! Loads a plugin: reads its file, inspects, compiles and describes the component, and checks what it offers.

use super::description::{CompileResult, Description};
use super::error::{LoadError, LoadErrorKind};
use super::single_flight::SingleFlight;
use crate::catalog::{Plugin, PluginTraffic};
use crate::offer;
use crate::package::{self, Digest, Inspection, PackageError};
use crate::scratch;
use platform::clock::Clock;
use platform::sync::RwLock;
use platform::telemetry::{Metrics, printable};
use policy::{Authority, HostEnvironment, Metering, PluginId, PluginSpec, Side, WithdrawnList};
use runtime::abi::GuestLinker;
use runtime::engine::{Compiler, Profile};
use runtime::imports::{Offer, ToolCaller, wasi};
use std::path::Path;
use std::sync::{Arc, OnceLock};

pub struct Loader {
    pub(super) compiler: Compiler,
    pub(super) clock: Arc<dyn Clock>,
    /// Answers reverse calls while a component is asked what it offers.
    pub(super) agent_tools: Arc<dyn ToolCaller>,
    environment: RwLock<Arc<HostEnvironment>>,
    pub(super) fuel: OnceLock<GuestLinker>,
    pub(super) ticks: OnceLock<GuestLinker>,
    pub(super) metrics: Arc<Metrics>,
    withdrawn: RwLock<Arc<WithdrawnList>>,
    pub(super) compilations: SingleFlight<(Digest, Profile), CompileResult>,
}

/// What a component is, without any configuration.
pub struct ExaminedComponent {
    pub digest: Digest,
    pub inspection: Inspection,
    pub offer: Offer,
}

impl Loader {
    /// `agent_tools` answers reverse calls while a component is asked what it offers.
    pub fn new(compiler: Compiler, clock: Arc<dyn Clock>, agent_tools: Arc<dyn ToolCaller>) -> Self {
        let (fuel, ticks) = (OnceLock::new(), OnceLock::new());
        let (environment, withdrawn, metrics) = (RwLock::default(), RwLock::default(), Arc::default());
        Self {
            compiler,
            clock,
            agent_tools,
            environment,
            fuel,
            ticks,
            metrics,
            withdrawn,
            compilations: SingleFlight::default(),
        }
    }

    /// Sets the values of grants that only name them, for plugins that are loaded from now on.
    pub fn set_environment(&self, environment: HostEnvironment) {
        *self.environment.write() = Arc::new(environment);
    }

    pub fn with_metrics(mut self, metrics: Arc<Metrics>) -> Self {
        self.metrics = metrics;
        self
    }

    /// Sets the components that are refused from now on. Loaded plugins stay.
    pub fn set_withdrawn(&self, withdrawn: WithdrawnList) {
        *self.withdrawn.write() = Arc::new(withdrawn);
    }

    /// Current instances of all components.
    pub fn instance_count(&self) -> u64 {
        self.compiler.instances()
    }

    /// Refuses a component that was withdrawn.
    pub fn check_not_withdrawn(&self, id: &PluginId, digest: &Digest) -> Result<(), LoadError> {
        self.refuse_withdrawn(digest).map_err(|kind| LoadError { table: id.table(), kind })
    }

    fn refuse_withdrawn(&self, digest: &Digest) -> Result<(), LoadErrorKind> {
        let list = self.withdrawn.read().clone();
        match list.reason(digest) {
            None => Ok(()),
            Some(why) => Err(LoadErrorKind::Withdrawn { digest: digest.clone(), why: printable(why).into_owned() }),
        }
    }

    pub async fn load(&self, spec: PluginSpec) -> Result<Plugin, LoadError> {
        let table = spec.id.table();
        self.try_load(spec).await.map_err(|kind| LoadError { table, kind })
    }

    /// Loads a plugin again from its file; none when the file is unchanged.
    pub async fn load_if_changed(&self, old: &Plugin) -> Result<Option<Plugin>, LoadError> {
        let fail = |kind| LoadError { table: old.id().table(), kind };
        let bytes = read_component(&old.spec).map_err(|error| fail(error.into()))?;
        if Digest::sha256(&bytes) == old.digest {
            return Ok(None);
        }
        self.load(old.spec.clone()).await.map(Some)
    }

    async fn try_load(&self, spec: PluginSpec) -> Result<Plugin, LoadErrorKind> {
        let bytes = read_component(&spec)?;
        let digest = Digest::sha256(&bytes);
        check_pinned(&spec, &digest)?;
        self.refuse_withdrawn(&digest)?;
        let profile = spec.limits.metering;
        let (prepared, description) = match self.cached(&digest, profile)? {
            Some((component, description)) => (self.prepare(profile, &component)?, description),
            None => self.prepare_uncached(&spec.source, &spec.id, &bytes, &digest, profile).await?,
        };
        let offered = offer::check(description.offer)?;
        if let Some(agreed) = spec.definitions.as_ref().filter(|agreed| **agreed != offered.definitions) {
            return Err(LoadErrorKind::DefinitionsChanged { found: offered.definitions, agreed: agreed.clone() });
        }
        let requests = description.inspection.manifest.as_ref().map(|m| m.requests.clone()).unwrap_or_default();
        let environment = self.environment.read().clone();
        let authority =
            Arc::new(Authority::new(spec.id.clone(), &requests, &spec.grants).with_environment(&environment));
        for grant in authority.unrequested_grants() {
            tracing::warn!(plugin = %spec.id, "the grant `{grant}` has no effect: the plugin's manifest does not request it");
        }
        for name in authority.env().filter(|name| !environment.environment.contains_key(*name)) {
            tracing::warn!(plugin = %spec.id, "the variable `{name}` is granted, but not set where this host was started");
        }
        let scratch_quota = scratch::prepare(&authority)?;
        wasi::check_mounts(&authority)?;
        let tools = offered.tools.iter().map(|tool| &tool.tool.name);
        let metrics = Arc::new(self.metrics.for_plugin(&spec.id.table(), tools));
        Ok(Plugin {
            metrics,
            reads_steering: description.inspection.reads_steering(),
            spec,
            digest,
            inspection: description.inspection,
            authority,
            tools: offered.tools,
            resources: offered.resources,
            templates: offered.templates,
            prompts: offered.prompts,
            completes: offered.completes,
            definitions: offered.definitions,
            suspicions: offered.suspicions,
            prepared,
            traffic: PluginTraffic::default(),
            scratch_quota,
        })
    }

    /// Inspects, compiles and describes a component without any configuration. `name` stands for it in errors.
    pub async fn examine(&self, name: &Path, bytes: &[u8]) -> Result<ExaminedComponent, LoadError> {
        let id = PluginId { side: Side::Server, name: "check".into() };
        let examined = async {
            let digest = Digest::sha256(bytes);
            self.refuse_withdrawn(&digest)?;
            let description = match self.cached_description(&digest) {
                Some(description) => description,
                None => self.prepare_uncached(name, &id, bytes, &digest, Metering::Fuel).await?.1,
            };
            Ok(ExaminedComponent { digest, inspection: description.inspection, offer: description.offer })
        };
        examined.await.map_err(|kind| LoadError { table: name.display().to_string(), kind })
    }

    /// Inspects a component without compiling it. Its offer is known only if an earlier run compiled it.
    pub fn inspect_only(&self, spec: &PluginSpec) -> Result<(Digest, Inspection, Option<Offer>), LoadError> {
        let inspect = || {
            let bytes = read_component(spec)?;
            let digest = Digest::sha256(&bytes);
            check_pinned(spec, &digest)?;
            self.refuse_withdrawn(&digest)?;
            if let Some(Description { inspection, offer }) = self.cached_description(&digest) {
                return Ok((digest, inspection, Some(offer)));
            }
            let refused = |error| PackageError::Invalid { path: spec.source.clone(), error };
            Ok((digest, package::inspect(&bytes).map_err(refused)?, None))
        };
        inspect().map_err(|kind| LoadError { table: spec.id.table(), kind })
    }
}

/// Reads a plugin's file. An installed one must belong to this user alone.
fn read_component(spec: &PluginSpec) -> Result<Vec<u8>, PackageError> {
    if spec.is_installed() { package::read_stored(&spec.source) } else { package::read_file(&spec.source) }
}

/// Compares a component with the digest that the operator pinned.
fn check_pinned(spec: &PluginSpec, found: &Digest) -> Result<(), LoadErrorKind> {
    let (path, found) = (spec.source.clone(), found.clone());
    match spec.digest.clone() {
        Some(pinned) if pinned != found && spec.is_installed() => {
            Err(LoadErrorKind::InstalledFileChanged { path, found, pinned, name: spec.id.name.to_string() })
        }
        Some(pinned) if pinned != found => Err(LoadErrorKind::DigestMismatch { path, found, pinned }),
        Some(_) | None => Ok(()),
    }
}
