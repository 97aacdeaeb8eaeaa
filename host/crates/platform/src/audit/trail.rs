//! The records of one call.

use super::{Arguments, Audit, Cost, Event, Record};
use crate::telemetry::{Active, Meter, Place, Tracer};
use policy::{Digest, PluginId, Principal};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Denials of one call that have records of their own; the others are counted in its verdict. Bounds what a plugin can
/// write to the disk by asking again and again for what it has not got.
const MAX_DENIALS: u64 = 256;
/// Things of one call that have spans of their own; the others are counted in the call's span. Bounds what a plugin can
/// send to the collector, and whose spans it can crowd out there, by asking for something small again and again.
const MAX_SPANS: u64 = 256;

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

/// Who else hears of what is decided in a call.
#[derive(Clone, Default)]
pub struct Observed {
    /// The plugin's counters.
    pub meter: Option<Arc<Meter>>,
    /// Makes spans.
    pub tracer: Tracer,
    /// The call's own span; none: it is not traced.
    pub place: Option<Place>,
}

/// The records of one call: who, which plugin and which call are known once. Clones are the same trail.
#[derive(Clone, Default)]
pub struct Trail(Option<Arc<Inner>>);

struct Inner {
    audit: Audit,
    scope: Scope,
    denials: AtomicU64,
    spans: AtomicU64,
    observed: Observed,
}

impl Trail {
    /// Of a call.
    pub fn new(audit: Audit, scope: Scope) -> Self {
        Self::observed(audit, scope, Observed::default())
    }

    /// Of a call that is counted and traced.
    pub fn observed(audit: Audit, scope: Scope, observed: Observed) -> Self {
        Self(Some(Arc::new(Inner { audit, scope, denials: AtomicU64::new(0), spans: AtomicU64::new(0), observed })))
    }

    /// Begins a span below the call's; none when it is not traced, or has as many as it may have. It ends when it is
    /// dropped.
    pub fn span(&self, name: &'static str) -> Option<Active> {
        let place = self.0.as_deref()?.observed.place?;
        self.span_below(name, place)
    }

    /// Begins a span below one of the call's.
    pub fn span_below(&self, name: &'static str, above: Place) -> Option<Active> {
        let inner = self.0.as_deref()?;
        let another = inner.spans.fetch_add(1, Ordering::Relaxed) < MAX_SPANS;
        another.then(|| inner.observed.tracer.below(name, above)).flatten()
    }

    /// What the call had done that has no span of its own, since there are so many.
    pub fn spans_left_out(&self) -> u64 {
        self.0.as_deref().map_or(0, |inner| inner.spans.load(Ordering::Relaxed).saturating_sub(MAX_SPANS))
    }

    /// Refusals until now.
    pub fn denials(&self) -> u64 {
        self.0.as_deref().map_or(0, |inner| inner.denials.load(Ordering::Relaxed))
    }

    /// Keeps what was decided.
    pub fn record(&self, event: Event) {
        let Some(inner) = self.0.as_deref() else { return };
        inner.count(&event);
        if let Event::Denial { .. } = event
            && inner.denials.fetch_add(1, Ordering::Relaxed) >= MAX_DENIALS
        {
            return;
        }
        inner.keep(event);
    }

    /// Keeps how the call ended.
    pub fn verdict(&self, tool: &str, outcome: &'static str, arguments: Option<Arguments>, cost: Cost) {
        if let Some(inner) = self.0.as_deref() {
            let (denials, tool) = (self.denials(), tool.to_owned());
            inner.keep(Event::Verdict { tool, outcome, arguments, denials, cost });
        }
    }
}

impl Inner {
    fn count(&self, event: &Event) {
        let Some(meter) = self.observed.meter.as_deref() else { return };
        match event {
            Event::Denial { capability, .. } => meter.denied(capability),
            Event::Request { status, .. } => meter.requested(*status),
            Event::Secret { .. } => meter.used_secret(),
            Event::ReverseCall { lane, outcome, .. } => meter.called_back(lane, outcome),
            Event::Question { kind, outcome } => meter.asked(kind, outcome),
            // Those have other places: a verdict is counted with its cost, the rest is not a call's.
            Event::Verdict { .. } | Event::Install { .. } | Event::Grant { .. } | Event::Journal(_) => {}
        }
    }

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
