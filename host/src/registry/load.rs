//! From configuration to a loaded plugin: read, inspect, compile, ask what it offers, check that. All or nothing.

use super::gate::Traffic;
use super::offer::{self, OfferError, definitions};
use super::plugin::Plugin;
use crate::abi::{Abi, CallSetup, Prepared};
use crate::clock::Clock;
use crate::engine::{Allowance, CallError, CompileError, Compiler, Component, Profile, Standstill};
use crate::imports::{
    Accounts, AgentTools, CallContext, CallCtx, Client, GuestLog, NoClient, NoConnections, NoSink, Offer, ToolCaller,
    wasi,
};
use crate::package::{self, Digest, Inspection, PackageError};
use crate::policy::{Authority, Budget, Limits, Lineage, Metering, PluginId, PluginSpec};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::{Arc, OnceLock};
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
    #[error(transparent)]
    Offer(#[from] OfferError),
    #[error(transparent)]
    Mount(#[from] wasi::MountError),
}

/// Loads plugins.
pub struct Loader {
    compiler: Compiler,
    clock: Arc<dyn Clock>,
    agent: Arc<dyn ToolCaller>,
    fuel: OnceLock<Abi>,
    ticks: OnceLock<Abi>,
}

/// What the cache remembers of a component, so that a warm start runs no guest code.
#[derive(Serialize, Deserialize)]
struct Description {
    inspection: Inspection,
    offer: Offer,
}

impl Loader {
    /// Over a compiler. `nobody` answers reverse calls while a component is asked what it offers.
    pub fn new(compiler: Compiler, clock: Arc<dyn Clock>, nobody: Arc<dyn ToolCaller>) -> Self {
        Self { compiler, clock, agent: nobody, fuel: OnceLock::new(), ticks: OnceLock::new() }
    }

    /// Loads one plugin.
    pub async fn load(&self, spec: PluginSpec) -> Result<Plugin, LoadError> {
        let table = spec.id.table();
        self.try_load(spec).await.map_err(|reason| LoadError { table, reason })
    }

    /// Loads what now is in the file of a plugin that is loaded already; none when that is the same.
    pub async fn newer(&self, old: &Plugin) -> Result<Option<Plugin>, LoadError> {
        let fail = |reason| LoadError { table: old.id().table(), reason };
        let bytes = package::read_file(&old.spec.source).map_err(|error| fail(error.into()))?;
        if Digest::of(&bytes) == old.digest {
            return Ok(None);
        }
        self.load(old.spec.clone()).await.map(Some)
    }

    async fn try_load(&self, spec: PluginSpec) -> Result<Plugin, Reason> {
        let bytes = package::read_file(&spec.source)?;
        let digest = Digest::of(&bytes);
        let profile = spec.limits.metering;
        let (prepared, description) = match self.compiler.cached(digest.as_str(), profile)? {
            Some(cached) => match serde_json::from_slice::<Description>(&cached.description) {
                Ok(description) => (self.prepare(profile, &cached.component)?, description),
                Err(_) => self.install(&spec.source, &spec.id, &bytes, &digest, profile).await?,
            },
            None => self.install(&spec.source, &spec.id, &bytes, &digest, profile).await?,
        };
        let offered = offer::check(description.offer)?;
        let requests = description.inspection.manifest.as_ref().map(|m| m.requests.clone()).unwrap_or_default();
        let authority = Arc::new(Authority::new(spec.id.clone(), &requests, &spec.grants));
        for idle in authority.idle_grants() {
            tracing::warn!(plugin = %spec.id, "the grant `{idle}` has no effect: the plugin's manifest does not request it");
        }
        // A directory that is not there is better found now than in the first call.
        let log = GuestLog::new(spec.id.clone(), "", "", &spec.limits);
        wasi::context(authority.mounts(), &log)?;
        Ok(Plugin {
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
        })
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
        tracing::info!(plugin = %id, %digest, "compiling");
        let fresh = self.compiler.compile(bytes, profile).await?;
        let prepared = self.prepare(profile, &fresh.component)?;
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
        Ok((prepared, description))
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
        let (cancel, standstill) = (CancellationToken::new(), Standstill::new(self.clock.clone()));
        let allowance = Allowance { limits, budget, cancel, standstill, held_above: 0 };
        let setup = CallSetup { tool: "describe".to_owned(), allowance, call, authority, clock: self.clock.clone() };
        prepared.describe(setup).await.result
    }

    /// Inspects, compiles and asks a component file without any configuration: what `portcullis check` does.
    pub async fn examine(&self, source: &Path) -> Result<(Digest, Inspection, Offer), LoadError> {
        let id = PluginId { side: crate::policy::Side::Server, name: "check".into() };
        let examined = async {
            let bytes = package::read_file(source)?;
            let digest = Digest::of(&bytes);
            let (_, description) = self.install(source, &id, &bytes, &digest, Metering::Fuel).await?;
            Ok((digest, description.inspection, description.offer))
        };
        examined.await.map_err(|reason| LoadError { table: source.display().to_string(), reason })
    }
}
