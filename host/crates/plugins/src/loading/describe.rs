//! Compiles components and asks them what they offer, once per component and engine profile.

use super::description::Description;
use super::error::LoadErrorKind;
use super::loader::Loader;
use crate::offer::{self, definitions_digest};
use crate::package::{self, Digest, Inspection, PackageError};
use policy::{Authority, Budget, Limits, Lineage, Metering, PluginId, Principal};
use runtime::abi::{GuestLinker, PreparedComponent};
use runtime::engine::{Allowance, CallError, CompileError, Component, PausableDeadline, Profile};
use runtime::imports::{CallContext, CallImports, CallScope, ClientLink, HostServices, NoClient, NoSink, Offer};
use std::path::Path;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

impl Loader {
    /// A component from the cache.
    pub(super) fn cached(
        &self,
        digest: &Digest,
        profile: Profile,
    ) -> Result<Option<(Component, Description)>, CompileError> {
        let Some(cached) = self.compiler.cached(digest.as_str(), profile)? else { return Ok(None) };
        // Another version of this host may have written a different description.
        let description = serde_json::from_slice(&cached.description).ok();
        Ok(description.map(|description| (cached.component, description)))
    }

    /// Prepares a component that is not in the cache: the only place that parses untrusted bytes and runs a component that
    /// was never run before. Concurrent callers with the same component share one compilation.
    pub(super) async fn prepare_uncached(
        &self,
        source: &Path,
        id: &PluginId,
        bytes: &[u8],
        digest: &Digest,
        profile: Profile,
    ) -> Result<(PreparedComponent, Description), LoadErrorKind> {
        let inspection =
            package::inspect(bytes).map_err(|error| PackageError::Invalid { path: source.to_owned(), error })?;
        let key = (digest.clone(), profile);
        let work = async { self.compile_and_describe(inspection, id, bytes, digest, profile).await.map_err(Arc::new) };
        let (component, description) = self.compilations.join(key, work).await.map_err(LoadErrorKind::Shared)?;
        Ok((self.prepare(profile, &component)?, Arc::unwrap_or_clone(description)))
    }

    /// Compiles a component, asks it what it offers, and caches both.
    async fn compile_and_describe(
        &self,
        inspection: Inspection,
        id: &PluginId,
        bytes: &[u8],
        digest: &Digest,
        profile: Profile,
    ) -> Result<(Component, Arc<Description>), LoadErrorKind> {
        // Another caller may just have cached it.
        if let Some((component, description)) = self.cached(digest, profile)? {
            return Ok((component, Arc::new(description)));
        }
        tracing::info!(plugin = %id, %digest, "compiling");
        let began = self.clock.now();
        let compiled = self.compiler.compile(bytes, profile).await?;
        self.metrics.compiled(self.clock.now().saturating_duration_since(began));
        let component = compiled.component.clone();
        let prepared = self.prepare(profile, &component)?;
        let offer = self.describe(&prepared, id, profile).await.map_err(LoadErrorKind::Describe)?;
        offer::check(offer.clone())?;
        // A later version of this host describes it again, and must then serve what was reviewed.
        let again = self.describe(&prepared, id, profile).await.map_err(LoadErrorKind::Describe)?;
        if definitions_digest(&again) != definitions_digest(&offer) {
            return Err(LoadErrorKind::UnstableOffer);
        }
        let description = Description { inspection, offer };
        match serde_json::to_vec(&description) {
            Ok(text) => compiled.save(digest.as_str(), text),
            Err(error) => tracing::warn!(%error, "cannot cache the description of a component"),
        }
        Ok((component, Arc::new(description)))
    }

    pub(super) fn prepare(&self, profile: Profile, component: &Component) -> Result<PreparedComponent, LoadErrorKind> {
        let cell = match profile {
            Metering::Fuel => &self.fuel,
            Metering::Ticks => &self.ticks,
        };
        let linker = match cell.get() {
            Some(linker) => linker,
            None => {
                let linker = GuestLinker::new(self.compiler.engine(profile)?)
                    .map_err(|error| LoadErrorKind::MissingImport(format!("{error:#}")))?;
                cell.get_or_init(|| linker)
            }
        };
        linker.prepare(component).map_err(LoadErrorKind::MissingImport)
    }

    /// Asks a component what it offers, with no authority at all.
    async fn describe(
        &self,
        prepared: &PreparedComponent,
        id: &PluginId,
        profile: Profile,
    ) -> Result<Offer, CallError> {
        let limits = Arc::new(Limits { metering: profile, ..Limits::default() });
        let (context, lineage) = (CallContext::new(Principal::host()), Lineage::root(id.table(), &limits));
        let scope = CallScope::new(context, Arc::new(Authority::none(id.clone())), lineage, limits.clone());
        let cancel = CancellationToken::new();
        let link = ClientLink {
            sink: Arc::new(NoSink),
            client: Arc::new(NoClient),
            agent: self.agent_tools.clone(),
            steering: None,
            cancel: cancel.clone(),
        };
        let imports = Box::new(CallImports::new(scope, link, Arc::new(HostServices::none()), None));
        let (budget, pausable_deadline) =
            (Budget::root(&limits, self.clock.now()), PausableDeadline::new(self.clock.clone()));
        let allowance = Allowance { limits, budget, cancel, pausable_deadline, caller_memory: 0 };
        prepared.describe(imports, allowance).await.result
    }

    /// A component's description from the cache, whatever it was compiled for.
    pub(super) fn cached_description(&self, digest: &Digest) -> Option<Description> {
        let cached = |profile| self.compiler.cached_description(digest.as_str(), profile);
        let text = cached(Metering::Fuel).or_else(|| cached(Metering::Ticks))?;
        serde_json::from_slice(&text).ok()
    }
}
