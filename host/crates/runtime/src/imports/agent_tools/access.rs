//! One call's access to the agent's tools. Authority and lineage are checked here, before anything leaves the call.

use super::super::arguments::Arguments;
use super::super::call_scope::CallScope;
use super::super::call_sink::NoSink;
use super::super::client::ClientCalls;
use super::super::import_span::ImportSpan;
use super::super::output::Output;
use super::super::types::Tool;
use super::error::AgentError;
use super::lane::LaneCell;
use super::reverse_call::{AgentTool, CallOptions, ReverseCall, ReverseCallStep, ReverseOutcome, ToolCaller};
use crate::engine::{HeldResources, PausableClock, TreeFuel};
use crate::journal::CallJournal;
use futures::StreamExt;
use futures::stream;
use platform::audit::{AuditEvent, NO_LANE};
use platform::sync::Mutex;
use platform::telemetry::printable;
use policy::{Budget, Recipient};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

pub struct AgentTools {
    scope: Arc<CallScope>,
    caller: Arc<dyn ToolCaller>,
    journal: CallJournal,
    lacked: AtomicBool,
    /// How often each tool was called.
    called: Mutex<BTreeMap<String, u64>>,
}

/// What a reverse call takes over from the call that makes it.
pub struct ReverseCaller {
    pub client: Arc<dyn ClientCalls>,
    pub cancel: CancellationToken,
    pub output: Output,
    pub budget: Budget,
    /// How many reverse calls the call makes at once; `budget` is the share of each.
    pub concurrent: usize,
    pub pausable_clock: PausableClock,
    /// The share of a nested call in the fuel account of the tree, if there is one.
    pub tree_fuel: Option<TreeFuel>,
    pub held: HeldResources,
}

impl AgentTools {
    pub fn new(scope: Arc<CallScope>, caller: Arc<dyn ToolCaller>, journal: CallJournal) -> Self {
        Self { scope, caller, journal, lacked: AtomicBool::new(false), called: Mutex::default() }
    }

    pub fn list(&self) -> Vec<Tool> {
        let granted = |found: &AgentTool| self.scope.authority.agent_tool(&found.tool.name).is_ok();
        let list = || self.caller.tools().into_iter().filter(granted).map(|found| found.tool).collect();
        self.journal.begin("agent-tools.list", &()).see(list)
    }

    /// Whether the call asked for a tool of a client that declared none.
    pub fn lacked(&self) -> bool {
        self.lacked.load(Ordering::Relaxed)
    }

    pub(crate) fn called(&self) -> BTreeMap<String, u64> {
        self.called.lock().clone()
    }

    /// Counts the calls that an earlier run has made.
    pub(crate) fn catch_up(&self, called: BTreeMap<String, u64>, lacked: bool) {
        self.lacked.fetch_or(lacked, Ordering::Relaxed);
        let before = std::mem::replace(&mut *self.called.lock(), called.clone());
        for (tool, times) in called {
            let missing = times.saturating_sub(before.get(&tool).copied().unwrap_or_default());
            (0..missing).for_each(|_| self.caller.replayed(&tool));
        }
    }

    /// Reverse calls made so far in the whole chain.
    pub fn calls(&self) -> u32 {
        self.scope.lineage.calls()
    }

    /// Checks authority, flows and limits; the returned call may be made.
    pub fn check(
        &self,
        name: String,
        arguments: String,
        options: &CallOptions,
        caller: &ReverseCaller,
    ) -> Result<ReverseCall, AgentError> {
        let refused = |outcome: &'static str| {
            let tool = name.clone();
            self.scope.authority.audit().record(AuditEvent::ReverseCall { tool, lane: NO_LANE, outcome });
        };
        let authority = &self.scope.authority;
        authority.enforce(authority.agent_tool(&name)).map_err(AgentError::Denied)?;
        let found = self.journal.begin("agent-tools.find", &name).see(|| self.caller.find(&name));
        let origin = found.inspect_err(|error| {
            if matches!(error, AgentError::NotSupported(_)) && self.caller.lacks_declaration() {
                self.lacked.store(true, Ordering::Relaxed);
            }
            refused(error.name());
        })?;
        self.scope.check_flow(&Recipient::Origin(origin)).map_err(AgentError::Denied)?;
        let lineage = self.scope.lineage.descend(&*name, arguments.len() as u64).map_err(AgentError::from);
        let lineage = lineage.inspect_err(|error| refused(error.name()))?.split(caller.concurrent);
        let size = arguments.len() as u64;
        let step = self.journal.begin("agent-tools.call", &(&name, &arguments, options)).with(|| name.clone());
        let arguments = Arguments::parse(&arguments).map_err(AgentError::InvalidArguments);
        let arguments = arguments.inspect_err(|error| refused(error.name()))?;
        let purpose = options.purpose.as_deref().map(printable).unwrap_or_default();
        tracing::debug!(plugin = %self.scope.authority.plugin(), chain = lineage.path(), %purpose, "reverse call");
        let mut budget = caller.budget;
        if let Some(timeout) = options.timeout {
            budget.deadline =
                budget.deadline.min(caller.pausable_clock.now() + timeout.min(Duration::from_secs(86_400)));
        }
        let sink = if options.chunks { caller.output.forward(&name) } else { Arc::new(NoSink) };
        let (parent, mut context) = (self.scope.context.id.to_string(), self.scope.context.nested());
        // The name is safe in a span: it is that of an existing, granted tool.
        let mut span = self.scope.authority.audit().span("tools/call").map(|span| span.outward().with_subject(&name));
        if let Some(span) = &mut span {
            span.set("mcp.method.name", "tools/call");
            span.set("gen_ai.tool.name", &*name);
            span.set("portcullis.request.size", size);
            context.traceparent = span.place().map(|place| place.traceparent());
        }
        *self.called.lock().entry(name.clone()).or_default() += 1;
        let (purpose, agent, plugin) =
            (options.purpose.clone(), self.caller.clone(), self.scope.authority.plugin().clone());
        Ok(ReverseCall {
            name,
            arguments,
            purpose,
            plugin,
            parent,
            context,
            sink,
            agent,
            lineage,
            budget,
            cancel: caller.cancel.clone(),
            client: caller.client.clone(),
            pausable_clock: caller.pausable_clock.clone(),
            tree_fuel: caller.tree_fuel.clone(),
            held: caller.held.clone(),
            timeout: options.timeout,
            answer_timeout: self.scope.limits.answer_timeout,
            lane: LaneCell::default(),
            reconciler: self.scope.reconciler.clone(),
            journal: self.journal.of_nested(&step),
            step: self.journal.is_on().then(|| ReverseCallStep { step, output: caller.output.clone() }),
            again: None,
            audit: self.scope.authority.audit().clone(),
            span,
        })
    }

    /// Makes checked calls concurrently and returns the results in their order.
    pub async fn make(&self, calls: Vec<Result<ReverseCall, AgentError>>) -> Vec<ReverseOutcome> {
        let parallel = usize::try_from(self.scope.lineage.parallel()).unwrap_or(1);
        let made = calls.into_iter().map(|call| async {
            match call {
                Ok(call) => call.make().await,
                Err(error) => {
                    ImportSpan::start(self.scope.authority.audit(), "tools/call").outward().finish(error.name());
                    ReverseOutcome::unasked(error)
                }
            }
        });
        stream::iter(made).buffered(parallel).collect().await
    }
}
