//! The records of one call.

use super::event::{AuditEvent, RecordedArguments};
use super::log::Audit;
use super::record::AuditRecord;
use crate::telemetry::{ActiveSpan, PluginMetrics, ResourceUsage, SpanContext, Tracer};
use policy::{Digest, Lineage, PluginId, Principal, TreeBudget};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

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

/// Returns whether nothing may be written at this moment.
pub type Silence = Arc<dyn Fn() -> bool + Send + Sync>;

/// Records what one call does. Clones share the counters.
#[derive(Clone, Default)]
pub struct CallAudit(Option<Arc<Inner>>);

struct Inner {
    audit: Audit,
    scope: AuditScope,
    /// The lineage of the call or of its caller, which limits how many refusals and spans are kept for the whole tree.
    lineage: Lineage,
    denials: AtomicU64,
    refusals_left_out: AtomicU64,
    spans_dropped: AtomicU64,
    observed: CallTelemetry,
    /// While it returns true, another run of the call writes the same records.
    silent: OnceLock<Silence>,
}

impl CallAudit {
    pub fn new(audit: Audit, scope: AuditScope, lineage: Lineage) -> Self {
        Self::observed(audit, scope, lineage, CallTelemetry::default())
    }

    /// Creates it with metrics and tracing.
    pub fn observed(audit: Audit, scope: AuditScope, lineage: Lineage, observed: CallTelemetry) -> Self {
        let (denials, refusals_left_out, spans_dropped, silent) = Default::default();
        let inner = Inner { audit, scope, lineage, denials, refusals_left_out, spans_dropped, observed, silent };
        Self(Some(Arc::new(inner)))
    }

    /// Writes nothing while `silence` returns true, because another run of the call writes then.
    pub fn be_silent_while(&self, silence: Option<Silence>) {
        if let (Some(inner), Some(silence)) = (self.0.as_deref(), silence) {
            // A call has only one log, so this is set once.
            let _ = inner.silent.set(silence);
        }
    }

    /// Starts a child of the call's span, which ends when it is dropped. `None` if the call is not traced or its tree has too
    /// many spans.
    pub fn span(&self, name: &'static str) -> Option<ActiveSpan> {
        let place = self.0.as_deref()?.observed.place?;
        self.span_below(name, place)
    }

    /// Starts a child of one of the call's spans.
    pub fn span_below(&self, name: &'static str, above: SpanContext) -> Option<ActiveSpan> {
        let inner = self.0.as_deref()?;
        if inner.is_silent() {
            return None;
        }
        if inner.lineage.take(TreeBudget::Spans, 1).is_err() {
            inner.spans_dropped.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        inner.observed.tracer.below(name, above)
    }

    /// The number of this call's spans that were dropped because there were too many.
    pub fn spans_dropped(&self) -> u64 {
        self.0.as_deref().map_or(0, |inner| inner.spans_dropped.load(Ordering::Relaxed))
    }

    pub fn denials(&self) -> u64 {
        self.0.as_deref().map_or(0, |inner| inner.denials.load(Ordering::Relaxed))
    }

    /// Takes over the number of denials that an earlier run of the call had.
    pub fn catch_up(&self, denials: u64) {
        if let Some(inner) = self.0.as_deref() {
            inner.denials.fetch_max(denials, Ordering::Relaxed);
        }
    }

    /// Records an event. Returns false for a refusal that came after so many others that it is only counted. Such a refusal
    /// must not be logged either.
    pub fn record(&self, event: AuditEvent) -> bool {
        let Some(inner) = self.0.as_deref() else { return true };
        let is_silent = inner.is_silent();
        if !is_silent {
            inner.count(&event);
        }
        if matches!(event, AuditEvent::Denial { .. }) {
            inner.denials.fetch_add(1, Ordering::Relaxed);
        }
        let is_kept = !event.is_refusal() || inner.keeps_refusal();
        if is_kept {
            if !is_silent {
                inner.keep(event);
            }
        } else {
            inner.refusals_left_out.fetch_add(1, Ordering::Relaxed);
        }
        is_kept
    }

    /// Records something that has just happened outside of the host. It happened in this run only, so it is recorded even while
    /// nothing else is written.
    pub fn record_done(&self, event: AuditEvent) {
        if let Some(inner) = self.0.as_deref() {
            inner.count(&event);
            inner.keep(event);
        }
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
            let left_out = inner.refusals_left_out.load(Ordering::Relaxed);
            if left_out > 0 && inner.audit.keeps_refusal(&inner.scope.principal, &inner.scope.plugin) {
                let (plugin, call) = (&inner.scope.plugin, &*inner.scope.call);
                tracing::warn!(%plugin, call, left_out, "further refusals of this call were counted, but not logged");
            }
            inner.keep(AuditEvent::Verdict { tool, outcome, arguments, denials, cost });
        }
    }
}

impl Inner {
    fn is_silent(&self) -> bool {
        self.silent.get().is_some_and(|silent| silent())
    }

    fn keeps_refusal(&self) -> bool {
        let AuditScope { principal, plugin, .. } = &self.scope;
        self.lineage.take(TreeBudget::Refusals, 1).is_ok() && self.audit.keeps_refusal(principal, plugin)
    }

    fn count(&self, event: &AuditEvent) {
        let Some(meter) = self.observed.meter.as_deref() else { return };
        match event {
            AuditEvent::Denial { capability, .. } => meter.denied(capability),
            AuditEvent::HttpRequest { status, .. } => meter.requested(*status),
            AuditEvent::SecretUsed { .. } => meter.used_secret(),
            AuditEvent::ReverseCall { lane, outcome, .. } => meter.called_back(lane, outcome),
            AuditEvent::Question { kind, outcome } => meter.asked(kind, outcome),
            // A verdict is counted with its resource usage, and the other events do not belong to a call.
            AuditEvent::Verdict { .. } | AuditEvent::Install { .. } | AuditEvent::Grant { .. } | AuditEvent::Log(_) => {
            }
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
