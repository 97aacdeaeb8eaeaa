//! What was decided, for whoever has to answer for it later: one record per decision, in the order of deciding.
//!
//! A record holds names and digests, never values: arguments, answers and secrets do not belong in it.

mod event;

pub use event::{Cost, Event};

use crate::policy::{Digest, PluginId, Principal};
use std::sync::Arc;

/// One record.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// On whose behalf; none: the operator's own command.
    pub principal: Option<Principal>,
    /// Which plugin.
    pub plugin: Option<PluginId>,
    /// Its bytes.
    pub digest: Option<Digest>,
    /// The call it belongs to.
    pub call: Option<String>,
    /// What was decided.
    pub event: Event,
}

/// Keeps records. Must not wait: a call is running.
pub trait Journal: Send + Sync {
    /// Keeps one.
    fn keep(&self, record: Record);
}

/// Where records go. Clones are the same place.
#[derive(Clone, Default)]
pub struct Audit(Option<Arc<dyn Journal>>);

impl Audit {
    /// Into this journal.
    pub fn new(journal: Arc<dyn Journal>) -> Self {
        Self(Some(journal))
    }

    /// Nowhere: commands that only look.
    pub fn none() -> Self {
        Self(None)
    }

    /// Keeps one record.
    pub fn record(&self, record: Record) {
        if let Some(journal) = &self.0 {
            journal.keep(record);
        }
    }
}

/// The records of one call: who, which plugin and which call are known once.
#[derive(Clone, Default)]
pub struct Trail {
    audit: Audit,
    about: Option<Arc<(Principal, PluginId, Digest, String)>>,
}

impl Trail {
    /// Of a call.
    pub fn new(audit: Audit, principal: Principal, plugin: PluginId, digest: Digest, call: String) -> Self {
        Self { audit, about: Some(Arc::new((principal, plugin, digest, call))) }
    }

    /// Keeps what was decided.
    pub fn record(&self, event: Event) {
        if let Some((principal, plugin, digest, call)) = self.about.as_deref() {
            self.audit.record(Record {
                principal: Some(principal.clone()),
                plugin: Some(plugin.clone()),
                digest: Some(digest.clone()),
                call: Some(call.clone()),
                event,
            });
        }
    }
}
