//! Records each call exactly once in audit, metrics and trace, whether it ended, was refused or was dropped.

use crate::calls::answers::answer::{CallAnswer, FinishedCall};
use platform::audit::{Audit, AuditScope, CallAudit, CallTelemetry, RecordedArguments};
use platform::telemetry::{ActiveSpan, PluginMetrics, ResourceUsage, Tracer};
use policy::{Digest, Lineage, PluginId};
use runtime::engine::CallError;
use runtime::imports::CallContext;
use runtime::journal::CallJournal;
use std::sync::Arc;
use tokio_util::task::task_tracker::TaskTrackerToken;

pub(super) struct CallRecorder {
    tool: Arc<str>,
    call_audit: CallAudit,
    arguments: Option<RecordedArguments>,
    metrics: Option<Arc<PluginMetrics>>,
    span: Option<ActiveSpan>,
    done: bool,
    /// Tells whether the call goes on in another instance and has therefore not ended.
    journal: CallJournal,
    /// Held until the call is recorded.
    _unrecorded: TaskTrackerToken,
}

/// Where a call is recorded besides the audit log.
pub(super) struct Observers<'a> {
    pub(super) metrics: Option<Arc<PluginMetrics>>,
    pub(super) tracer: &'a Tracer,
    /// The caller's trace context.
    pub(super) traceparent: Option<&'a str>,
    pub(super) unrecorded: TaskTrackerToken,
    pub(super) journal: CallJournal,
}

/// What the record of a call says about the tool or function that is called.
pub(super) struct RecordedTarget<'a> {
    /// The method of the protocol.
    pub(super) method: &'static str,
    pub(super) name: Arc<str>,
    /// JSON text; only tools have some.
    pub(super) arguments: Option<&'a str>,
}

impl CallRecorder {
    /// Begins the record of a call that is about to begin.
    pub(super) fn new(
        audit: &Audit,
        scope: AuditScope,
        lineage: &Lineage,
        target: RecordedTarget<'_>,
        observers: Observers<'_>,
    ) -> Self {
        let Observers { metrics, tracer, traceparent, unrecorded, journal } = observers;
        let RecordedTarget { method, name: tool, arguments } = target;
        let span = tracer.begin(method, traceparent).map(|mut span| {
            if arguments.is_some() {
                span = span.with_subject(&tool);
                span.set("gen_ai.operation.name", "execute_tool");
                span.set("gen_ai.tool.name", &*tool);
            }
            span.set("portcullis.plugin", &*scope.plugin.to_string());
            span.set("portcullis.call", &*scope.call);
            span
        });
        if let Some(metrics) = &metrics {
            metrics.begun();
        }
        let arguments = arguments.and_then(|text| audit.arguments(text));
        let place = span.as_ref().and_then(ActiveSpan::place);
        let telemetry = CallTelemetry { meter: metrics.clone(), tracer: tracer.clone(), place };
        let call_audit = CallAudit::observed(audit.clone(), scope, lineage.clone(), telemetry);
        Self { tool, call_audit, arguments, metrics, span, done: false, journal, _unrecorded: unrecorded }
    }

    pub(super) fn call_audit(&self) -> &CallAudit {
        &self.call_audit
    }

    /// The trace context for what the call does; none when it is not traced.
    pub(super) fn traceparent(&self) -> Option<String> {
        Some(self.span.as_ref()?.place()?.traceparent())
    }

    /// Records a call that was refused.
    pub(super) fn refuse(self, error: CallError) -> FinishedCall {
        self.finish(FinishedCall::not_started(Err(error)))
    }

    /// Records a call that ended.
    pub(super) fn finish(mut self, finished: FinishedCall) -> FinishedCall {
        let usage = &finished.usage;
        let cost = ResourceUsage {
            fuel: usage.spent.fuel,
            cpu: usage.spent.cpu,
            wall: usage.wall,
            memory: usage.peak_memory,
            chunks: usage.chunks,
            output: usage.output_bytes,
        };
        let outcome = match &finished.result {
            Ok(CallAnswer::Tool(answer)) if answer.is_error => "error",
            Ok(_) => "ok",
            Err(error) => error.code(),
        };
        self.record(outcome, cost);
        finished
    }

    fn record(&mut self, outcome: &'static str, cost: ResourceUsage) {
        self.done = true;
        if let Some(metrics) = &self.metrics {
            metrics.ended(&self.tool, outcome, &cost);
        }
        if let Some(mut span) = self.span.take() {
            span.set("portcullis.outcome", outcome);
            if let Some(fuel) = cost.fuel {
                span.set("portcullis.fuel", fuel);
            }
            let counts = [
                ("portcullis.memory", cost.memory),
                ("portcullis.chunks", cost.chunks),
                ("portcullis.response.size", cost.output),
                ("portcullis.denials", self.call_audit.denials()),
                ("portcullis.spans_dropped", self.call_audit.spans_dropped()),
            ];
            for (name, number) in counts {
                span.set(name, number);
            }
            if outcome != "ok" {
                span.failed(outcome);
            }
        }
        self.call_audit.verdict(&self.tool, outcome, self.arguments.take(), cost);
    }
}

/// What all audit records of a call have in common.
pub(super) fn audit_scope(context: &CallContext, plugin: &PluginId, digest: Option<&Digest>) -> AuditScope {
    AuditScope {
        principal: context.principal.clone(),
        plugin: plugin.clone(),
        digest: digest.cloned(),
        call: context.id.clone(),
        parent: context.parent.clone(),
    }
}

impl Drop for CallRecorder {
    fn drop(&mut self) {
        if self.done {
            return;
        }
        if self.journal.is_suspended() {
            if let Some(metrics) = &self.metrics {
                metrics.suspended();
            }
        } else {
            // Nobody waits for the call any more, and what it used is unknown.
            self.record(CallError::Cancelled.code(), ResourceUsage::default());
        }
    }
}
