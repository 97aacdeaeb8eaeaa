//! The records of one call.

use super::{Arguments, Audit, Cost, Event, Record};
use crate::policy::{Digest, PluginId, Principal};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Denials of one call that have records of their own; the others are counted in its verdict. Bounds what a plugin can
/// write to the disk by asking again and again for what it has not got.
const MAX_DENIALS: u64 = 256;

/// What all records of a call have in common.
#[derive(Debug, Clone, PartialEq)]
pub struct Scope {
    /// On whose behalf.
    pub principal: Principal,
    /// Which plugin.
    pub plugin: PluginId,
    /// Its bytes; none for a server behind this host.
    pub digest: Option<Digest>,
    /// The call's id.
    pub call: String,
    /// The call that it is nested in.
    pub parent: Option<String>,
}

/// The records of one call: who, which plugin and which call are known once. Clones are the same trail.
#[derive(Clone, Default)]
pub struct Trail(Option<Arc<Inner>>);

struct Inner {
    audit: Audit,
    scope: Scope,
    denials: AtomicU64,
}

impl Trail {
    /// Of a call.
    pub fn new(audit: Audit, scope: Scope) -> Self {
        Self(Some(Arc::new(Inner { audit, scope, denials: AtomicU64::new(0) })))
    }

    /// Keeps what was decided.
    pub fn record(&self, event: Event) {
        let Some(inner) = self.0.as_deref() else { return };
        if let Event::Denial { .. } = event
            && inner.denials.fetch_add(1, Ordering::Relaxed) >= MAX_DENIALS
        {
            return;
        }
        inner.keep(event);
    }

    /// Keeps how the call ended.
    pub fn verdict(&self, tool: &str, outcome: &str, arguments: Option<Arguments>, cost: Cost) {
        if let Some(inner) = self.0.as_deref() {
            let denials = inner.denials.load(Ordering::Relaxed);
            let (tool, outcome) = (tool.to_owned(), outcome.to_owned());
            inner.keep(Event::Verdict { tool, outcome, arguments, denials, cost });
        }
    }
}

impl Inner {
    fn keep(&self, event: Event) {
        let Scope { principal, plugin, digest, call, parent } = self.scope.clone();
        self.audit.record(Record {
            principal: Some(principal),
            plugin: Some(plugin),
            digest,
            call: Some(call),
            parent,
            event,
        });
    }
}
