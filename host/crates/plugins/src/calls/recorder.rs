//! Records each call exactly once in audit, metrics and trace, whether it ended, was refused or was dropped.

use super::answer::FinishedCall;
use platform::audit::{Audit, AuditScope, CallAudit, CallTelemetry, RecordedArguments};
use platform::telemetry::{ActiveSpan, PluginMetrics, ResourceUsage, Tracer};
use policy::{Digest, PluginId};
use runtime::engine::CallError;
use runtime::imports::CallContext;
use std::sync::Arc;

pub(super) struct CallRecorder {
    tool: String,
    call_audit: CallAudit,
    arguments: Option<RecordedArguments>,
    metrics: Option<Arc<PluginMetrics>>,
    span: Option<ActiveSpan>,
    done: bool,
}

/// Where a call is recorded besides the audit journal.
pub(super) struct Observers<'a> {
    pub(super) metrics: Option<Arc<PluginMetrics>>,
    pub(super) tracer: &'a Tracer,
    /// The caller's trace context.
    pub(super) traceparent: Option<&'a str>,
}

impl CallRecorder {
    /// For a call that is about to begin. `arguments` is a JSON text; only tools have some.
    pub(super) fn new(
        audit: &Audit,
        scope: AuditScope,
        tool: &str,
        arguments: Option<&str>,
        observers: Observers<'_>,
    ) -> Self {
        let Observers { metrics, tracer, traceparent } = observers;
        // A tool may have any name, such as `read-resource`: its arguments tell it from the other exports.
        let mut span = match (arguments, tool) {
            (None, "read-resource") => tracer.begin("resources/read", traceparent),
            (None, "get-prompt") => tracer.begin("prompts/get", traceparent),
            (None, _) => tracer.begin("completion/complete", traceparent),
            (Some(_), tool) => tracer.begin("execute_tool", traceparent).map(|span| span.with_subject(tool)),
        };
        if let Some(span) = &mut span {
            if arguments.is_some() {
                span.set("gen_ai.operation.name", "execute_tool");
                span.set("gen_ai.tool.name", tool);
            }
            span.set("portcullis.plugin", &*scope.plugin.to_string());
            span.set("portcullis.call", &*scope.call);
        }
        if let Some(metrics) = &metrics {
            metrics.begun();
        }
        let arguments = arguments.and_then(|text| audit.arguments(text));
        let place = span.as_ref().and_then(ActiveSpan::place);
        let telemetry = CallTelemetry { meter: metrics.clone(), tracer: tracer.clone(), place };
        let call_audit = CallAudit::observed(audit.clone(), scope, telemetry);
        Self { tool: tool.to_owned(), call_audit, arguments, metrics, span, done: false }
    }

    pub(super) fn call_audit(&self) -> &CallAudit {
        &self.call_audit
    }

    /// The trace context for what the call does; none when it is not traced.
    pub(super) fn traceparent(&self) -> Option<String> {
        Some(self.span.as_ref()?.place()?.traceparent())
    }

    /// Records a call that was refused.
    pub(super) fn refuse<A>(self, error: CallError) -> FinishedCall<A> {
        self.finish(FinishedCall::not_started(Err(error)), |_| false)
    }

    /// Records a call that ended. `is_failure` says whether an answer reports an error.
    pub(super) fn finish<A>(
        mut self,
        finished: FinishedCall<A>,
        is_failure: impl FnOnce(&A) -> bool,
    ) -> FinishedCall<A> {
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
            Ok(answer) if is_failure(answer) => "error",
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
                ("portcullis.spans_left_out", self.call_audit.spans_left_out()),
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
        if !self.done {
            // Nobody waits for the call any more, and what it used is unknown.
            self.record(CallError::Cancelled.code(), ResourceUsage::default());
        }
    }
}
