//! `agent-tools`: reverse calls. Authority and lineage are checked here, before anything leaves the call.

mod going;

use super::{
    Budgeted, CallContext, CallSink, ClientCalls, Content, Doing, Exhaustion, GuestDenial, NoSink, Output, Permit,
    Questions, Tool, ToolResult,
};
use crate::engine::PausableDeadline;
use async_trait::async_trait;
use futures::StreamExt;
use futures::stream;
use going::Going;
use platform::audit::{Event, Trail};
use platform::telemetry::{Active, printable};
use policy::{Budget, Denial, Hearer, Lineage, LineageError, Origin, Spent};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// Why a reverse call gave no result.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentError {
    /// No such tool.
    UnknownTool(String),
    /// Nobody can serve reverse calls; says who was asked.
    NotSupported(String),
    /// Somebody on the agent's side said no.
    Declined(String),
    /// Not granted.
    Denied(GuestDenial),
    /// The tool is already running further up.
    Cycle(String),
    /// Milliseconds.
    Timeout(u64),
    /// A budget of the chain is used up.
    Exhausted(Exhaustion),
    /// The whole chain was cancelled.
    Cancelled,
    /// They do not match the tool's schema.
    InvalidArguments(String),
    /// The tool ran and reports a failure.
    ToolError(ToolResult),
    /// The tool broke.
    Failed(String),
}

/// What a tool answered that reported no failure.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentResult {
    /// What it says.
    pub content: Vec<Content>,
    /// JSON text.
    pub structured: Option<String>,
    /// Who answered.
    pub origin: Origin,
    /// Not for other origins.
    pub private: bool,
    /// The arguments it really ran with, as JSON text, where whoever approved the call changed them.
    pub edited: Option<String>,
}

impl AgentResult {
    /// Bytes that a guest is given.
    pub fn size(&self) -> u64 {
        size(&self.content, self.structured.as_deref())
    }
}

fn size(content: &[Content], structured: Option<&str>) -> u64 {
    content.iter().map(Content::size).sum::<u64>() + structured.map_or(0, str::len) as u64
}

/// A tool that can be called, and who would answer.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentTool {
    /// By its full name.
    pub tool: Tool,
    /// Who.
    pub origin: Origin,
}

/// What the caller wishes.
#[derive(Debug, Clone, Default)]
pub struct CallOptions {
    /// Gives up after this long.
    pub timeout: Option<Duration>,
    /// Why, for the log.
    pub purpose: Option<String>,
    /// Whether the tool's chunks are passed on.
    pub chunks: bool,
}

/// A reverse call that has passed all checks.
pub struct ReverseCall {
    /// `<agent plugin>.<tool>`.
    pub name: String,
    /// JSON text.
    pub arguments: String,
    /// Why, in the guest's words.
    pub purpose: Option<String>,
    /// Who makes it.
    pub plugin: policy::PluginId,
    /// The id of the call that makes it.
    pub parent: String,
    /// What the called tool is told about its call.
    pub context: CallContext,
    /// Where its chunks go: to the caller's client if the caller wants that, else nowhere.
    pub sink: Arc<dyn CallSink>,
    /// Who answers calls that it makes in turn: whoever answers this one.
    pub agent: Arc<dyn ToolCaller>,
    /// The chain down to and including this call.
    pub lineage: Lineage,
    /// What is left to it.
    pub budget: Budget,
    /// Cancelled with the root call.
    pub cancel: CancellationToken,
    /// Who answers its questions: the root call's client.
    pub client: Arc<dyn ClientCalls>,
    /// The caller's questions, among which counts what is asked for this call.
    pub questions: Questions,
    /// Shared by the chain.
    pub pausable_deadline: PausableDeadline,
    /// Memory that the callers hold, in bytes.
    pub held: u64,
    /// When the guest itself gives up; its deadline comes on top of that.
    pub timeout: Option<Duration>,
    /// How long somebody outside may be waited for at most, with the deadline standing still.
    pub answer: Duration,
    /// Which way it takes, for the record.
    pub lane: Lane,
    /// Where that is recorded.
    pub trail: Trail,
    /// Its span.
    pub span: Option<Active>,
}

/// The way that a reverse call takes; said by whoever decides. Clones are the same.
#[derive(Debug, Clone, Default)]
pub struct Lane(Arc<OnceLock<&'static str>>);

impl Lane {
    /// It takes this one.
    pub fn take(&self, lane: &'static str) {
        // Whoever decides later has decided within the first one's way.
        let _ = self.0.set(lane);
    }

    /// Its name; `none` for a call that came nowhere.
    pub fn name(&self) -> &'static str {
        self.0.get().copied().unwrap_or("none")
    }
}

/// Reaches tools of the agent's side. Implemented by `agent` for those that this host reaches itself, and by `mcp` for the
/// client's.
#[async_trait]
pub trait ToolCaller: Send + Sync {
    /// All of them.
    fn tools(&self) -> Vec<AgentTool>;
    /// Who would answer; otherwise why nobody would.
    fn find(&self, name: &str) -> Result<Origin, AgentError>;
    /// Calls one; what it spent is reported however it ends.
    async fn call(&self, call: ReverseCall) -> (Result<AgentResult, AgentError>, Spent);
    /// Whether there would be further tools, had the client of the call declared its own.
    fn lacks_declaration(&self) -> bool {
        false
    }
}

/// One call's way to the agent's tools.
pub struct AgentTools {
    permit: Permit,
    lineage: Lineage,
    caller: Arc<dyn ToolCaller>,
    answer: Duration,
    lacked: AtomicBool,
}

/// What a reverse call needs of the call that makes it.
pub struct Caller<'a> {
    /// Its context.
    pub context: &'a CallContext,
    /// Its own output.
    pub output: &'a Output,
    /// What is left to it.
    pub budget: Budget,
    /// Now.
    pub now: Instant,
    /// Cancelled with it.
    pub cancel: CancellationToken,
    /// Its client.
    pub client: Arc<dyn ClientCalls>,
    /// Its questions.
    pub questions: Questions,
    /// Its chain's.
    pub pausable_deadline: PausableDeadline,
    /// Memory that it and those above it hold.
    pub held: u64,
}

impl AgentTools {
    /// For a call at the end of `lineage`.
    pub fn new(permit: impl Into<Permit>, lineage: Lineage, caller: Arc<dyn ToolCaller>) -> Self {
        let answer = policy::Limits::default().answer;
        Self { permit: permit.into(), lineage, caller, answer, lacked: AtomicBool::new(false) }
    }

    /// Waiting at most this long for an answer from outside.
    pub fn waiting_at_most(mut self, answer: Duration) -> Self {
        self.answer = answer;
        self
    }

    /// What the call may do.
    pub fn permit(&self) -> &Permit {
        &self.permit
    }

    /// What the calls under this root share.
    pub fn lineage(&self) -> &Lineage {
        &self.lineage
    }

    /// What may be called.
    pub fn list(&self) -> Vec<Tool> {
        let granted = |found: &AgentTool| self.permit.agent_tool(&found.tool.name).is_ok();
        self.caller.tools().into_iter().filter(granted).map(|found| found.tool).collect()
    }

    /// Whether the call wanted a tool that nobody has, of a client that declared none.
    pub fn lacked(&self) -> bool {
        self.lacked.load(Ordering::Relaxed)
    }

    /// Reverse calls made under the root of this chain.
    pub fn calls(&self) -> u32 {
        self.lineage.calls()
    }

    /// Checks a call; what comes back may be made.
    pub fn check(
        &self,
        name: String,
        arguments: String,
        options: &CallOptions,
        caller: Caller<'_>,
    ) -> Result<ReverseCall, AgentError> {
        let refused = |outcome: &'static str| {
            let tool = name.clone();
            self.permit.trail().record(Event::ReverseCall { tool, lane: "none", outcome });
        };
        self.allowed(self.permit.agent_tool(&name))?;
        let origin = self.caller.find(&name).inspect_err(|error| {
            if matches!(error, AgentError::NotSupported(_)) && self.caller.lacks_declaration() {
                self.lacked.store(true, Ordering::Relaxed);
            }
            refused(error.name());
        })?;
        self.allowed(self.permit.flow(&self.lineage.secrets(), &Hearer::Origin(origin)))?;
        let lineage = self.lineage.descend(&name, arguments.len() as u64).map_err(AgentError::from);
        let lineage = lineage.inspect_err(|error| refused(error.name()))?;
        let purpose = options.purpose.as_deref().map(printable).unwrap_or_default();
        tracing::debug!(plugin = %self.permit.plugin(), chain = lineage.path(), %purpose, "reverse call");
        let mut budget = caller.budget;
        if let Some(timeout) = options.timeout {
            budget.deadline = budget.deadline.min(caller.now + timeout.min(Duration::from_secs(86_400)));
        }
        let Caller { context, output, cancel, client, questions, pausable_deadline, held, .. } = caller;
        let sink = if options.chunks { output.forward(&name) } else { Arc::new(NoSink) };
        let (parent, mut context) = (context.id.clone(), context.nested());
        // Its name is that of a tool that is there, and granted.
        let mut span = self.permit.trail().span("tools/call").map(|span| span.outward().of(&name));
        if let Some(span) = &mut span {
            span.set("mcp.method.name", "tools/call");
            span.set("gen_ai.tool.name", &*name);
            span.set("portcullis.request.size", arguments.len() as u64);
            context.traceparent = span.place().map(|place| place.traceparent());
        }
        let (purpose, agent, plugin) = (options.purpose.clone(), self.caller.clone(), self.permit.plugin().clone());
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
            cancel,
            client,
            questions,
            pausable_deadline,
            held,
            timeout: options.timeout,
            answer: self.answer,
            lane: Lane::default(),
            trail: self.permit.trail().clone(),
            span,
        })
    }

    /// Makes calls that were checked, some at a time, and waits for all; in their order.
    pub async fn make(
        &self,
        calls: Vec<Result<ReverseCall, AgentError>>,
    ) -> Vec<(Result<AgentResult, AgentError>, Spent)> {
        let parallel = usize::try_from(self.lineage.parallel()).unwrap_or(1);
        let made = calls.into_iter().map(|call| async {
            match call {
                Ok(call) => call.make().await,
                Err(error) => {
                    Doing::begin(self.permit.trail(), "tools/call").outward().ended(error.name());
                    (Err(error), Spent::default())
                }
            }
        });
        stream::iter(made).buffered(parallel).collect().await
    }

    fn allowed(&self, decision: Result<(), Denial>) -> Result<(), AgentError> {
        self.permit.decided(decision).map_err(AgentError::Denied)
    }
}

impl ReverseCall {
    /// Makes the call. What comes back is counted, and from then on the chain knows what is private in it.
    pub async fn make(mut self) -> (Result<AgentResult, AgentError>, Spent) {
        let (agent, lineage) = (self.agent.clone(), self.lineage.clone());
        let (trail, lane, tool) = (self.trail.clone(), self.lane.clone(), self.name.clone());
        let mut going = Going { trail, lane, tool, outcome: "cancelled", bytes: 0, span: self.span.take() };
        let (answer, spent) = agent.call(self).await;
        if let Ok(result) = &answer
            && result.private
        {
            lineage.confide(result.origin.clone());
        }
        let bytes = match &answer {
            Ok(result) => result.size(),
            Err(AgentError::ToolError(result)) => size(&result.content, result.structured.as_deref()),
            Err(_) => 0,
        };
        going.bytes = bytes;
        let answer = lineage.learn(bytes).map_err(AgentError::from).and(answer);
        going.outcome = answer.as_ref().map_or_else(AgentError::name, |_| "ok");
        (answer, spent)
    }
}

impl From<LineageError> for AgentError {
    fn from(error: LineageError) -> Self {
        let exhausted = |budget, limit| AgentError::Exhausted(Exhaustion { budget, limit });
        match error {
            LineageError::Cycle(..) => AgentError::Cycle(error.to_string()),
            LineageError::Depth(limit) => exhausted(Budgeted::Depth, limit.into()),
            LineageError::Calls(limit) => exhausted(Budgeted::Calls, limit.into()),
            LineageError::Arguments(limit) => exhausted(Budgeted::Arguments, limit),
            LineageError::Results(limit) => exhausted(Budgeted::Results, limit),
            LineageError::Waiting(limit) => exhausted(Budgeted::Waiting, limit),
        }
    }
}

impl From<&Denial> for GuestDenial {
    fn from(denial: &Denial) -> Self {
        Self {
            capability: denial.capability.key().to_owned(),
            target: denial.capability.target().to_owned(),
            remedy: denial.remedy.clone(),
        }
    }
}
