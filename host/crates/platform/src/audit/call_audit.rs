//! The records of one call.

use super::event::{AuditEvent, RecordedArguments};
use super::journal::Audit;
use super::record::AuditRecord;
use crate::telemetry::{ActiveSpan, PluginMetrics, ResourceUsage, SpanContext, Tracer};
use policy::{Digest, PluginId, Principal};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Refusals of one call that get their own records and log lines; further ones are counted. Bounds what a plugin writes to
/// the disk by repeating what it may not do.
const MAX_REFUSALS: u64 = 256;
/// Spans of one call; further ones are counted in the call's own span. Bounds what a plugin sends to the collector, where
/// it could crowd out the spans of others.
const MAX_SPANS: u64 = 256;

/// The fields that all records of a call share.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditScope {
    pub principal: Principal,
    pub plugin: PluginId,
    /// Digest of the component; `None` for an upstream server.
    pub digest: Option<Digest>,
    pub call: Arc<str>,
    /// The call that this one is nested in.
    pub parent: Option<Arc<str>>,
}

/// The metrics and tracing of a call.
#[derive(Clone, Default)]
pub struct CallTelemetry {
    pub meter: Option<Arc<PluginMetrics>>,
    pub tracer: Tracer,
    /// The call's own span; `None` if it is not traced.
    pub place: Option<SpanContext>,
}

/// Records what one call does. Clones share the counters.
#[derive(Clone, Default)]
pub struct CallAudit(Option<Arc<Inner>>);

struct Inner {
    audit: Audit,
    scope: AuditScope,
    denials: AtomicU64,
    refusals: AtomicU64,
    spans: AtomicU64,
    observed: CallTelemetry,
}

impl CallAudit {
    pub fn new(audit: Audit, scope: AuditScope) -> Self {
        Self::observed(audit, scope, CallTelemetry::default())
    }

    /// With metrics and tracing.
    pub fn observed(audit: Audit, scope: AuditScope, observed: CallTelemetry) -> Self {
        let (denials, refusals, spans) = Default::default();
        Self(Some(Arc::new(Inner { audit, scope, denials, refusals, spans, observed })))
    }

    /// Starts a child of the call's span; `None` if the call is not traced or has too many spans. It ends when dropped.
    pub fn span(&self, name: &'static str) -> Option<ActiveSpan> {
        let place = self.0.as_deref()?.observed.place?;
        self.span_below(name, place)
    }

    /// Starts a child of one of the call's spans.
    pub fn span_below(&self, name: &'static str, above: SpanContext) -> Option<ActiveSpan> {
        let inner = self.0.as_deref()?;
        let another = inner.spans.fetch_add(1, Ordering::Relaxed) < MAX_SPANS;
        another.then(|| inner.observed.tracer.below(name, above)).flatten()
    }

    /// The number of spans that were dropped because there were too many.
    pub fn spans_dropped(&self) -> u64 {
        self.0.as_deref().map_or(0, |inner| inner.spans.load(Ordering::Relaxed).saturating_sub(MAX_SPANS))
    }

    pub fn denials(&self) -> u64 {
        self.0.as_deref().map_or(0, |inner| inner.denials.load(Ordering::Relaxed))
    }

    /// Records an event. Returns false for a refusal after so many of them that it is only counted; it is not to be logged
    /// either.
    pub fn record(&self, event: AuditEvent) -> bool {
        let Some(inner) = self.0.as_deref() else { return true };
        inner.count(&event);
        if matches!(event, AuditEvent::Denial { .. }) {
            inner.denials.fetch_add(1, Ordering::Relaxed);
        }
        let is_kept = !event.is_refusal() || inner.refusals.fetch_add(1, Ordering::Relaxed) < MAX_REFUSALS;
        if is_kept {
            inner.keep(event);
        }
        is_kept
    }

    /// Records how the call ended.
    pub fn verdict(
        &self,
        tool: &Arc<str>,
        outcome: &'static str,
        arguments: Option<RecordedArguments>,
        cost: ResourceUsage,
    ) {
        if let Some(inner) = self.0.as_deref() {
            let (denials, tool) = (self.denials(), tool.clone());
            let left_out = inner.refusals.load(Ordering::Relaxed).saturating_sub(MAX_REFUSALS);
            if left_out > 0 {
                let (plugin, call) = (&inner.scope.plugin, &*inner.scope.call);
                tracing::warn!(%plugin, call, left_out, "further refusals of this call were counted, but not logged");
            }
            inner.keep(AuditEvent::Verdict { tool, outcome, arguments, denials, cost });
        }
    }
}

impl Inner {
    fn count(&self, event: &AuditEvent) {
        let Some(meter) = self.observed.meter.as_deref() else { return };
        match event {
            AuditEvent::Denial { capability, .. } => meter.denied(capability),
            AuditEvent::HttpRequest { status, .. } => meter.requested(*status),
            AuditEvent::SecretUsed { .. } => meter.used_secret(),
            AuditEvent::ReverseCall { lane, outcome, .. } => meter.called_back(lane, outcome),
            AuditEvent::Question { kind, outcome } => meter.asked(kind, outcome),
            // A verdict is counted with its resource usage; the others do not belong to a call.
            AuditEvent::Verdict { .. }
            | AuditEvent::Install { .. }
            | AuditEvent::Grant { .. }
            | AuditEvent::Journal(_) => {}
        }
    }

    fn keep(&self, event: AuditEvent) {
        let AuditScope { principal, plugin, digest, call, parent } = self.scope.clone();
        self.audit.record(AuditRecord {
            principal: Some(principal),
            plugin: Some(plugin),
            digest,
            call: Some(call),
            parent,
            event,
        });
    }
}
