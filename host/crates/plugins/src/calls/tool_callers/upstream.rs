//! Calls of upstream tools for a client, through the same trait as reverse calls; and what else a client asks such a server for.

use crate::calls::answers::answer::{CallUsage, FinishedCall};
use crate::calls::recorder::{CallRecorder, Observers, audit_scope};
use crate::calls::request::{CallParent, CallRequest, Inherited};
use crate::calls::runner::Runner;
use crate::calls::upstream_request::{UpstreamOutcome, UpstreamRequest};
use platform::telemetry::printable;
use policy::{Budget, Limits, Lineage, TreeBudget};
use runtime::engine::{CallError, PausableClock};
use runtime::imports::{Arguments, ClientLink, LaneCell, ReverseCall};
use runtime::journal::CallJournal;
use std::time::Duration;

/// The upstream server's own settings bound how long a call may take; this is the bound for a server without such settings.
const MAX_DEADLINE: Duration = Duration::from_secs(86_400);

impl Runner {
    pub(in crate::calls) async fn run_upstream(
        &self,
        mut asked: UpstreamRequest<'_>,
        request: CallRequest,
    ) -> FinishedCall {
        let id = asked.id().clone();
        let scope = audit_scope(&request.context, &id, None);
        let traceparent = request.context.traceparent.as_deref();
        let observers = Observers {
            metrics: None,
            tracer: self.tracer(),
            traceparent,
            unrecorded: self.unrecorded(),
            journal: CallJournal::default(),
        };
        let limits = Limits { deadline: Some(MAX_DEADLINE), ..Limits::default() };
        let full_name = asked.full_name();
        let lineage = match &request.parent {
            Some(CallParent::Host(Inherited { lineage, .. }) | CallParent::External { lineage, .. }) => lineage.clone(),
            None => Lineage::root(full_name.clone(), &limits),
        };
        let recorder = CallRecorder::new(self.audit(), scope, &lineage, asked.recorded(), observers);
        if let Err(reason) = asked.accept_arguments() {
            return recorder.refuse(CallError::InvalidArguments { reason });
        }
        if self.audit().refuses_calls(&request.context.principal) {
            return recorder.refuse(CallError::AuditUnavailable);
        }
        if let Err(error) = self.count_against_rate(&request.context.principal) {
            return recorder.refuse(error);
        }
        let clock = self.clock();
        let began = clock.now();
        let CallRequest { mut context, link: ClientLink { sink, client, agent, cancel, held, .. }, parent, journal } =
            request;
        journal.cannot_replay("its tool is that of another server");
        if !journal.note_effect().await {
            return recorder.refuse(CallError::Internal);
        }
        let pausable_clock = match &parent {
            Some(CallParent::Host(inherited)) => inherited.pausable_clock.clone(),
            Some(CallParent::External { .. }) | None => PausableClock::new(clock.clone()),
        };
        let started = pausable_clock.now();
        let (lineage, budget, budget_source) = match parent {
            Some(CallParent::External { budget_source, .. }) => {
                let lineage = match lineage.descend(full_name.clone(), asked.argument_bytes()) {
                    Ok(lineage) => lineage,
                    Err(error) => return recorder.refuse(CallError::Lineage(error)),
                };
                (lineage, budget_source.reserve(started).nested(&limits, started), Some(budget_source))
            }
            Some(CallParent::Host(Inherited { budget, .. })) => (lineage, budget.nested(&limits, started), None),
            None => (lineage, Budget::root(&limits, started), None),
        };
        if let Some(traceparent) = recorder.traceparent() {
            context.traceparent = Some(traceparent);
        }
        let call = ReverseCall {
            reconciler: None,
            lineage,
            name: full_name.to_string(),
            arguments: Arguments::default(),
            purpose: None,
            plugin: id.clone(),
            parent: context.id.to_string(),
            context,
            sink,
            agent,
            budget,
            cancel,
            client,
            pausable_clock: pausable_clock.clone(),
            tree_fuel: None,
            held,
            timeout: None,
            answer_timeout: limits.answer_timeout,
            lane: LaneCell::default(),
            audit: recorder.call_audit().clone(),
            span: None,
            journal: CallJournal::default(),
            step: None,
            again: None,
        };
        let (parent, lineage, name) = (call.parent.clone(), call.lineage.clone(), asked.recorded().name);
        let UpstreamOutcome { answer, has_begun, spent, output_bytes, meta } = asked.ask(call).await;
        let wall = clock.now().saturating_duration_since(began);
        if let Some(budget_source) = budget_source {
            budget_source.settle(spent, pausable_clock.now().saturating_duration_since(started));
        }
        if let Err(error) = &answer {
            let tool = printable(&name).into_owned();
            let (code, text) = (error.code(), error.to_string());
            tracing::warn!(upstream = &*id.name, tool, call = parent, code, "{}", printable(&text));
        }
        let usage = CallUsage {
            spent,
            wall,
            output_bytes,
            calls: lineage.calls(),
            questions: u32::try_from(lineage.used(TreeBudget::Questions)).unwrap_or(u32::MAX),
            ..CallUsage::default()
        };
        recorder.finish(FinishedCall { has_begun, meta, ..FinishedCall::new(answer, usage) })
    }
}
