//! Finds out what a component is: the only place that parses bytes that were never inspected, and runs a component that was
//! never run.

use super::description::Description;
use super::error::ComponentError;
use super::library::ComponentLibrary;
use crate::offer::{self, definitions_digest};
use crate::package::{self, Digest, Inspection, PackageError};
use policy::{Authority, Budget, Limits, Lineage, PluginId, Principal};
use runtime::abi::{LinkedComponent, PreparedComponent};
use runtime::engine::{Allowance, CallError, HeldResources, PausableClock, Profile};
use runtime::imports::{CallContext, CallImports, CallScope, ClientLink, HostServices, NoClient, NoSink, Offer};
use runtime::journal::CallJournal;
use std::path::Path;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

impl ComponentLibrary {
    /// A component's description from the cache, whichever program checked it.
    pub(crate) fn cached_description(&self, digest: &Digest) -> Option<Description> {
        // Another version of this host may have written a different description.
        serde_json::from_slice(&self.compiler.note(digest.as_str())?).ok()
    }

    /// The description of a component whose code is in the cache. If another program made the description, it is checked again.
    pub(crate) fn checked_description(
        &self,
        digest: &Digest,
        profile: Profile,
    ) -> Result<Option<Description>, ComponentError> {
        let Some(description) = self.cached_description(digest) else { return Ok(None) };
        if description.checked_by == self.build {
            return Ok(self.compiler.has_code(digest.as_str(), profile)?.then_some(description));
        }
        if self.link_cached(digest, profile)?.is_none() {
            return Ok(None);
        }
        let description = self.check(description.inspection, description.offer)?;
        self.save(digest, &description);
        Ok(Some(description))
    }

    /// Describes a component that is not in the cache. Concurrent callers with the same component share one compilation.
    /// `source` stands for it in errors.
    pub(crate) async fn describe(
        &self,
        source: &Path,
        id: &PluginId,
        bytes: &[u8],
        digest: &Digest,
        profile: Profile,
    ) -> Result<(Arc<LinkedComponent>, Arc<Description>), ComponentError> {
        // The file may have changed since its digest was known. Nothing is kept under the digest of other bytes.
        let found = Digest::sha256(bytes);
        if found != *digest {
            return Err(ComponentError::Replaced { path: source.to_owned(), found, wanted: digest.clone() });
        }
        let inspection =
            package::inspect(bytes).map_err(|error| PackageError::Invalid { path: source.to_owned(), error })?;
        let key = (digest.clone(), profile);
        let work = async { self.compile_and_describe(inspection, id, bytes, digest, profile).await.map_err(Arc::new) };
        self.compilations.join(key, work).await.map_err(ComponentError::Shared)
    }

    /// Compiles a component, asks it what it offers, and caches both.
    async fn compile_and_describe(
        &self,
        inspection: Inspection,
        id: &PluginId,
        bytes: &[u8],
        digest: &Digest,
        profile: Profile,
    ) -> Result<(Arc<LinkedComponent>, Arc<Description>), ComponentError> {
        // Another caller may just have cached it.
        if let Some(description) = self.checked_description(digest, profile)?
            && let Some(linked) = self.link_cached(digest, profile)?
        {
            return Ok((linked, Arc::new(description)));
        }
        tracing::info!(plugin = %id, %digest, "compiling");
        let began = self.clock.now();
        let compiled = self.compiler.compile(bytes, digest.as_str(), profile).await?;
        self.metrics.compiled(self.clock.now().saturating_duration_since(began));
        let linked = Arc::new(self.link(profile, &compiled.component)?);
        let prepared = PreparedComponent::new(linked.clone());
        let docs = inspection.docs.clone();
        let offer = self.ask(&prepared, docs.clone(), id, profile).await.map_err(ComponentError::Describe)?;
        let description = self.check(inspection, offer)?;
        // Asked twice: a later version of this host asks again, and must then get what was reviewed.
        let again = self.ask(&prepared, docs, id, profile).await.map_err(ComponentError::Describe)?;
        if definitions_digest(&again) != description.definitions {
            return Err(ComponentError::UnstableOffer);
        }
        compiled.save(digest.as_str());
        self.save(digest, &description);
        Ok((linked, Arc::new(description)))
    }

    fn check(&self, inspection: Inspection, offer: Offer) -> Result<Description, ComponentError> {
        let definitions = definitions_digest(&offer);
        Ok(Description { checked_by: self.build.clone(), inspection, offer: offer::check(offer)?, definitions })
    }

    fn save(&self, digest: &Digest, description: &Description) {
        match serde_json::to_vec(description) {
            Ok(text) => self.compiler.save_note(digest.as_str(), &text),
            Err(error) => tracing::warn!(%error, "cannot cache the description of a component"),
        }
    }

    /// Asks a component what it offers, with no authority at all.
    async fn ask(
        &self,
        prepared: &PreparedComponent,
        docs: Option<Arc<[u8]>>,
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
            held: HeldResources::default(),
            fuel: None,
        };
        let imports =
            Box::new(CallImports::new(scope, link, Arc::new(HostServices::none()), None, CallJournal::default()));
        let (budget, pausable_clock) =
            (Budget::root(&limits, self.clock.now()), PausableClock::new(self.clock.clone()));
        let allowance = Allowance { limits, budget, cancel, pausable_clock, fuel: None };
        prepared.describe(docs, imports, allowance).await.result
    }
}
