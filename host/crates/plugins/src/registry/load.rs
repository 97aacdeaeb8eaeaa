//! From configuration to a loaded plugin: read, inspect, compile, ask what it offers, check that. All or nothing.

use super::flight::Flights;
use super::gate::Traffic;
use super::offer::{self, OfferError, definitions};
use super::plugin::Plugin;
use super::scratch::{self, ScratchError};
use crate::package::{self, Digest, Inspection, PackageError};
use platform::clock::Clock;
use platform::telemetry::{Metrics, printable};
use policy::{Authority, Budget, Limits, Lineage, Machine, Metering, PluginId, PluginSpec, Side, Withdrawn};
use runtime::abi::{Abi, CallSetup, Prepared};
use runtime::engine::{Allowance, CallError, CompileError, Compiler, Component, Profile, PausableDeadline};
use runtime::imports::{
    Accounts, AgentTools, CallContext, CallCtx, Client, GuestLog, NoClient, NoConnections, NoSink, Offer, ToolCaller,
    wasi,
};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use tokio_util::sync::CancellationToken;

/// A plugin that could not be loaded: which, and why.
#[derive(Debug, thiserror::Error)]
#[error("[{table}] {reason}")]
pub struct LoadError {
    /// Where it is configured.
    pub table: String,
    /// Why.
    pub reason: Reason,
}

/// Why a plugin could not be loaded.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's sentence is that of the error inside")]
pub enum Reason {
    #[error(transparent)]
    Package(#[from] PackageError),
    #[error(transparent)]
    Compile(#[from] CompileError),
    #[error("it needs an import that this host does not offer: {0}")]
    Imports(String),
    #[error("asking it what it offers failed: {0}")]
    Ask(CallError),
    #[error("asked twice what it offers, it says two things; what it offers must not depend on time or chance")]
    Fickle,
    #[error("{0}")]
    Shared(Arc<Reason>),
    #[error(transparent)]
    Offer(#[from] OfferError),
    #[error(transparent)]
    Mount(#[from] wasi::MountError),
    #[error(transparent)]
    Scratch(#[from] ScratchError),
    #[error(
        "{} is {found}, but the lock file names {pinned}: it was changed without being asked for. `portcullis plugin update {name}` brings what is published now, `portcullis plugin remove {name}` forgets it",
        path.display()
    )]
    Changed { path: PathBuf, found: Digest, pinned: Digest, name: String },
    #[error(
        "{} is {found}, but `digest` names {pinned}: only those bytes are loaded. If the change is yours, write the new digest",
        path.display()
    )]
    NotPinned { path: PathBuf, found: Digest, pinned: Digest },
    #[error(
        "what it says of its tools is not what you agreed to (it is {found}, agreed was {agreed}); remove it, or install it again and read what it says"
    )]
    Redefined { found: Digest, agreed: Digest },
    #[error("{digest} is withdrawn, {why}: it is not loaded. `portcullis plugin update` looks for another version")]
    Withdrawn { digest: Digest, why: String },
}

/// Loads plugins.
pub struct Loader {
    compiler: Compiler,
    clock: Arc<dyn Clock>,
    agent: Arc<dyn ToolCaller>,
    machine: RwLock<Arc<Machine>>,
    fuel: OnceLock<Abi>,
    ticks: OnceLock<Abi>,
    metrics: Arc<Metrics>,
    withdrawn: RwLock<Arc<Withdrawn>>,
    flights: Flights<(Digest, Profile), Learned>,
}

/// What is learned of a component by compiling and asking it, by all who want to know it at that moment.
type Learned = Result<(Component, Arc<Description>), Arc<Reason>>;

/// What a component turned out to be, without any configuration.
pub struct Examined {
    /// Of its bytes.
    pub digest: Digest,
    /// What it says of itself, imports and exports.
    pub inspection: Inspection,
    /// What it offers.
    pub offer: Offer,
}

/// What the cache remembers of a component, so that a warm start runs no guest code.
#[derive(Clone, Serialize, Deserialize)]
struct Description {
    inspection: Inspection,
    offer: Offer,
}

impl Loader {
    /// Over a compiler. `nobody` answers reverse calls while a component is asked what it offers.
    pub fn new(compiler: Compiler, clock: Arc<dyn Clock>, nobody: Arc<dyn ToolCaller>) -> Self {
        let (fuel, ticks) = (OnceLock::new(), OnceLock::new());
        let (machine, withdrawn, metrics) = (RwLock::default(), RwLock::default(), Arc::default());
        Self { compiler, clock, agent: nobody, machine, fuel, ticks, metrics, withdrawn, flights: Flights::default() }
    }

    /// From now on with what this machine has for grants that only name it. What is loaded stays.
    pub fn on(&self, machine: Machine) {
        *self.machine.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(machine);
    }

    /// With counters of what plugins do.
    pub fn counted_by(mut self, metrics: Arc<Metrics>) -> Self {
        self.metrics = metrics;
        self
    }

    /// From now on these are refused, too. What is loaded stays.
    pub fn refuse(&self, withdrawn: Withdrawn) {
        *self.withdrawn.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(withdrawn);
    }

    /// Instances there are now of what was loaded.
    pub fn instances(&self) -> u64 {
        self.compiler.instances()
    }

    /// Whether a component may be loaded at all.
    pub fn allows(&self, id: &PluginId, digest: &Digest) -> Result<(), LoadError> {
        self.not_withdrawn(digest).map_err(|reason| LoadError { table: id.table(), reason })
    }

    fn not_withdrawn(&self, digest: &Digest) -> Result<(), Reason> {
        let list = self.withdrawn.read().unwrap_or_else(PoisonError::into_inner).clone();
        match list.reason(digest) {
            None => Ok(()),
            Some(why) => Err(Reason::Withdrawn { digest: digest.clone(), why: printable(why).into_owned() }),
        }
    }

    /// Loads one plugin.
    pub async fn load(&self, spec: PluginSpec) -> Result<Plugin, LoadError> {
        let table = spec.id.table();
        self.try_load(spec).await.map_err(|reason| LoadError { table, reason })
    }

    /// Loads what now is in the file of a plugin that is loaded already; none when that is the same.
    pub async fn newer(&self, old: &Plugin) -> Result<Option<Plugin>, LoadError> {
        let fail = |reason| LoadError { table: old.id().table(), reason };
        let bytes = read(&old.spec).map_err(|error| fail(error.into()))?;
        if Digest::of(&bytes) == old.digest {
            return Ok(None);
        }
        self.load(old.spec.clone()).await.map(Some)
    }

    async fn try_load(&self, spec: PluginSpec) -> Result<Plugin, Reason> {
        let bytes = read(&spec)?;
        let digest = Digest::of(&bytes);
        pinned(&spec, &digest)?;
        self.not_withdrawn(&digest)?;
        let profile = spec.limits.metering;
        let (prepared, description) = match self.known(&digest, profile)? {
            Some((component, description)) => (self.prepare(profile, &component)?, description),
            None => self.install(&spec.source, &spec.id, &bytes, &digest, profile).await?,
        };
        let offered = offer::check(description.offer)?;
        if let Some(agreed) = spec.definitions.as_ref().filter(|agreed| **agreed != offered.definitions) {
            return Err(Reason::Redefined { found: offered.definitions, agreed: agreed.clone() });
        }
        let requests = description.inspection.manifest.as_ref().map(|m| m.requests.clone()).unwrap_or_default();
        let machine = self.machine.read().unwrap_or_else(PoisonError::into_inner).clone();
        let authority = Arc::new(Authority::new(spec.id.clone(), &requests, &spec.grants).on(&machine));
        for idle in authority.idle_grants() {
            tracing::warn!(plugin = %spec.id, "the grant `{idle}` has no effect: the plugin's manifest does not request it");
        }
        for name in authority.env().filter(|name| !machine.environment.contains_key(*name)) {
            tracing::warn!(plugin = %spec.id, "the variable `{name}` is granted, but not set where this host was started");
        }
        let room = scratch::prepare(&authority)?;
        // A directory that is not there is better found now than in the first call.
        let log = GuestLog::new(spec.id.clone(), "", "", &spec.limits);
        wasi::context(&authority, &log)?;
        let tools = offered.tools.iter().map(|tool| &tool.tool.name);
        let meter = Arc::new(self.metrics.of_plugin(&spec.id.table(), tools));
        Ok(Plugin {
            meter,
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
            traffic: Traffic::default(),
            room,
        })
    }

    /// What the cache has of a component.
    fn known(&self, digest: &Digest, profile: Profile) -> Result<Option<(Component, Description)>, CompileError> {
        let Some(cached) = self.compiler.cached(digest.as_str(), profile)? else { return Ok(None) };
        // An entry of another version of this host may say other things.
        let description = serde_json::from_slice(&cached.description).ok();
        Ok(description.map(|description| (cached.component, description)))
    }

    /// What is done once per component and engine: everything that looks at untrusted bytes or runs untrusted code.
    async fn install(
        &self,
        source: &Path,
        id: &PluginId,
        bytes: &[u8],
        digest: &Digest,
        profile: Profile,
    ) -> Result<(Prepared, Description), Reason> {
        let inspection =
            package::inspect(bytes).map_err(|refusal| PackageError::Refused { path: source.to_owned(), refusal })?;
        let key = (digest.clone(), profile);
        let learn = async { self.learn(inspection, id, bytes, digest, profile).await.map_err(Arc::new) };
        let (component, description) = self.flights.join(key, learn).await.map_err(Reason::Shared)?;
        Ok((self.prepare(profile, &component)?, Arc::unwrap_or_clone(description)))
    }

    /// Compiles a component and asks it what it offers; both are kept.
    async fn learn(
        &self,
        inspection: Inspection,
        id: &PluginId,
        bytes: &[u8],
        digest: &Digest,
        profile: Profile,
    ) -> Result<(Component, Arc<Description>), Reason> {
        // Somebody may have been done with it just now.
        if let Some((component, description)) = self.known(digest, profile)? {
            return Ok((component, Arc::new(description)));
        }
        tracing::info!(plugin = %id, %digest, "compiling");
        let began = self.clock.now();
        let fresh = self.compiler.compile(bytes, profile).await?;
        self.metrics.compiled(self.clock.now().saturating_duration_since(began));
        let component = fresh.component.clone();
        let prepared = self.prepare(profile, &component)?;
        let offer = self.ask(&prepared, id, profile).await.map_err(Reason::Ask)?;
        offer::check(offer.clone())?;
        // What is reviewed once must be what is served later, when it is asked again by another version of this host.
        let again = self.ask(&prepared, id, profile).await.map_err(Reason::Ask)?;
        if definitions(&again) != definitions(&offer) {
            return Err(Reason::Fickle);
        }
        let description = Description { inspection, offer };
        match serde_json::to_vec(&description) {
            Ok(text) => fresh.keep(digest.as_str(), text),
            Err(error) => tracing::warn!(%error, "cannot describe a component for the cache"),
        }
        Ok((component, Arc::new(description)))
    }

    fn prepare(&self, profile: Profile, component: &Component) -> Result<Prepared, Reason> {
        let cell = match profile {
            Metering::Fuel => &self.fuel,
            Metering::Ticks => &self.ticks,
        };
        let abi = match cell.get() {
            Some(abi) => abi,
            None => {
                let made =
                    Abi::new(self.compiler.engine(profile)?).map_err(|error| Reason::Imports(format!("{error:#}")))?;
                cell.get_or_init(|| made)
            }
        };
        abi.prepare(component).map_err(Reason::Imports)
    }

    /// Asks a component what it offers, with no authority at all.
    async fn ask(&self, prepared: &Prepared, id: &PluginId, profile: Profile) -> Result<Offer, CallError> {
        let limits = Limits { metering: profile, ..Limits::default() };
        let context = CallContext::new("host");
        let lineage = Lineage::root(id.table(), &limits);
        let authority = Arc::new(Authority::none(id.clone()));
        let accounts = Accounts::new(authority.clone(), &limits, &context, lineage.clone(), Arc::new(NoConnections));
        let agent_tools = AgentTools::new(authority.clone(), lineage, self.agent.clone());
        let client = Client::new(authority.clone(), &limits, Arc::new(NoClient), accounts.clone());
        let call = CallCtx::new(context, &limits, Arc::new(NoSink), agent_tools, client, accounts);
        let budget = Budget::root(&limits, self.clock.now());
        let (cancel, pausable_deadline) = (CancellationToken::new(), PausableDeadline::new(self.clock.clone()));
        let allowance = Allowance { limits, budget, cancel, pausable_deadline, held_above: 0 };
        let (tool, clock) = ("describe".to_owned(), self.clock.clone());
        let setup = CallSetup { tool, allowance, call: Box::new(call), authority, clock, nested: false };
        prepared.describe(setup).await.result
    }

    /// Inspects, compiles and asks a component without any configuration. `name` is what it is called in messages.
    pub async fn examine(&self, name: &Path, bytes: &[u8]) -> Result<Examined, LoadError> {
        let id = PluginId { side: Side::Server, name: "check".into() };
        let examined = async {
            let digest = Digest::of(bytes);
            self.not_withdrawn(&digest)?;
            let description = match self.described(&digest) {
                Some(description) => description,
                None => self.install(name, &id, bytes, &digest, Metering::Fuel).await?.1,
            };
            Ok(Examined { digest, inspection: description.inspection, offer: description.offer })
        };
        examined.await.map_err(|reason| LoadError { table: name.display().to_string(), reason })
    }

    /// What is known of a component without compiling it: what an earlier run learned, or what its bytes say. An offer is
    /// known only of what was compiled.
    pub fn glance(&self, spec: &PluginSpec) -> Result<(Digest, Inspection, Option<Offer>), LoadError> {
        let glanced = || {
            let bytes = read(spec)?;
            let digest = Digest::of(&bytes);
            pinned(spec, &digest)?;
            self.not_withdrawn(&digest)?;
            if let Some(Description { inspection, offer }) = self.described(&digest) {
                return Ok((digest, inspection, Some(offer)));
            }
            let refused = |refusal| PackageError::Refused { path: spec.source.clone(), refusal };
            Ok((digest, package::inspect(&bytes).map_err(refused)?, None))
        };
        glanced().map_err(|reason| LoadError { table: spec.id.table(), reason })
    }

    /// What an earlier run learned of a component.
    fn described(&self, digest: &Digest) -> Option<Description> {
        let known = |profile| self.compiler.described(digest.as_str(), profile);
        let text = known(Metering::Fuel).or_else(|| known(Metering::Ticks))?;
        serde_json::from_slice(&text).ok()
    }
}

/// The bytes of a plugin's file. Of one that was installed, nobody else can have written it.
fn read(spec: &PluginSpec) -> Result<Vec<u8>, PackageError> {
    if spec.is_installed() { package::read_kept(&spec.source) } else { package::read_file(&spec.source) }
}

/// Whether these are the bytes that the operator agreed to.
fn pinned(spec: &PluginSpec, found: &Digest) -> Result<(), Reason> {
    let (path, found) = (spec.source.clone(), found.clone());
    match spec.digest.clone() {
        Some(pinned) if pinned != found && spec.is_installed() => {
            Err(Reason::Changed { path, found, pinned, name: spec.id.name.clone() })
        }
        Some(pinned) if pinned != found => Err(Reason::NotPinned { path, found, pinned }),
        Some(_) | None => Ok(()),
    }
}
