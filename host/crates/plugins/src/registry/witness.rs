//! Who sees to it that every call has exactly one verdict, whether it ended, was refused before it began, or was dropped.

use super::answer::Finished;
use platform::audit::{Arguments, Audit, Cost, Observed, Scope, Trail};
use platform::telemetry::{Active, Meter, Tracer, Used};
use policy::{Digest, PluginId};
use runtime::engine::CallError;
use runtime::imports::CallContext;
use std::sync::Arc;

/// Watches one call.
pub(super) struct Witness {
    tool: String,
    trail: Trail,
    arguments: Option<Arguments>,
    meter: Option<Arc<Meter>>,
    span: Option<Active>,
    done: bool,
}

/// Who counts and who draws, besides who records.
pub(super) struct Eyes<'a> {
    pub(super) meter: Option<Arc<Meter>>,
    pub(super) tracer: &'a Tracer,
    /// What the caller says it stands in.
    pub(super) above: Option<&'a str>,
}

impl Witness {
    /// Of a call that is about to begin. `arguments` is a JSON text.
    pub(super) fn of(audit: &Audit, scope: Scope, tool: &str, arguments: Option<&str>, eyes: Eyes<'_>) -> Self {
        let Eyes { meter, tracer, above } = eyes;
        // Only tools have arguments that are kept, and only they may be named as they like.
        let mut span = match (arguments, tool) {
            (None, "read-resource") => tracer.begin("resources/read", above),
            (None, "get-prompt") => tracer.begin("prompts/get", above),
            (None, _) => tracer.begin("completion/complete", above),
            (Some(_), tool) => tracer.begin("execute_tool", above).map(|span| span.of(tool)),
        };
        if let Some(span) = &mut span {
            if arguments.is_some() {
                span.set("gen_ai.operation.name", "execute_tool");
                span.set("gen_ai.tool.name", tool);
            }
            span.set("portcullis.plugin", &*scope.plugin.to_string());
            span.set("portcullis.call", &*scope.call);
        }
        if let Some(meter) = &meter {
            meter.begun();
        }
        let arguments = arguments.and_then(|text| audit.arguments(text));
        let place = span.as_ref().and_then(Active::place);
        let observed = Observed { meter: meter.clone(), tracer: tracer.clone(), place };
        let trail = Trail::observed(audit.clone(), scope, observed);
        Self { tool: tool.to_owned(), trail, arguments, meter, span, done: false }
    }

    /// The records of the call.
    pub(super) fn trail(&self) -> &Trail {
        &self.trail
    }

    /// Where what is done for the call stands; none when it is not traced.
    pub(super) fn traceparent(&self) -> Option<String> {
        Some(self.span.as_ref()?.place()?.traceparent())
    }

    /// It did not begin.
    pub(super) fn refused<A>(self, error: CallError) -> Finished<A> {
        self.saw(Finished::not_begun(Err(error)), |_| false)
    }

    /// It is over. `failed` says whether an answer tells of a failure.
    pub(super) fn saw<A>(mut self, finished: Finished<A>, failed: impl FnOnce(&A) -> bool) -> Finished<A> {
        let usage = &finished.usage;
        let cost = Cost {
            fuel: usage.spent.fuel,
            cpu: usage.spent.cpu,
            wall: usage.wall,
            memory: usage.peak_memory,
            chunks: usage.chunks,
            output: usage.output_bytes,
        };
        let outcome = match &finished.result {
            Ok(answer) if failed(answer) => "error",
            Ok(_) => "ok",
            Err(error) => error.code(),
        };
        self.conclude(outcome, cost);
        finished
    }

    fn conclude(&mut self, outcome: &'static str, cost: Cost) {
        self.done = true;
        if let Some(meter) = &self.meter {
            let Cost { fuel, cpu, wall, memory, chunks, output } = cost;
            meter.ended(&self.tool, outcome, &Used { fuel, cpu, wall, memory, chunks, output });
        }
        if let Some(mut span) = self.span.take() {
            span.set("portcullis.outcome", outcome);
            if let Some(fuel) = cost.fuel {
                span.set("portcullis.fuel", fuel);
            }
            let counted = [
                ("portcullis.memory", cost.memory),
                ("portcullis.chunks", cost.chunks),
                ("portcullis.response.size", cost.output),
                ("portcullis.denials", self.trail.denials()),
                ("portcullis.spans_left_out", self.trail.spans_left_out()),
            ];
            for (name, number) in counted {
                span.set(name, number);
            }
            if outcome != "ok" {
                span.failed(outcome);
            }
        }
        self.trail.verdict(&self.tool, outcome, self.arguments.take(), cost);
    }
}

/// What the records of a call have in common.
pub(super) fn scope(context: &CallContext, plugin: &PluginId, digest: Option<&Digest>) -> Scope {
    Scope {
        principal: context.principal.clone(),
        plugin: plugin.clone(),
        digest: digest.cloned(),
        call: context.id.clone(),
        parent: context.parent.clone(),
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        if !self.done {
            // Whoever waited is gone, and what it cost went with it.
            self.conclude(CallError::Cancelled.code(), Cost::default());
        }
    }
}
