//! One call of a server's tool: who makes it, and what it inherits.

use super::offer::{Chain, Offered};
use super::rounds::Rounds;
use super::voice::{Caller, Voice};
use crate::Shared;
use crate::UpstreamError;
use crate::{Asker, Face};
use policy::{Budget, Lineage, Principal};
use runtime::engine::PausableDeadline;
use runtime::imports::{CallSink, ClientCalls, Content, Questions, ReverseCall};
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::Duration;

/// A call to be made.
pub struct Call {
    /// The tool, as the server names it.
    pub tool: String,
    /// For it.
    pub arguments: Map<String, Value>,
    /// What "once per task" counts by.
    pub task: String,
    /// A mark, echoed on everything that belongs to the call.
    pub correlation: Option<String>,
    /// W3C trace context.
    pub traceparent: Option<String>,
    /// Gives up after this long, in which nobody was asked; absent: what the settings say.
    pub timeout: Option<Duration>,
    /// Who answers, instead of the connection's face.
    pub face: Option<Arc<dyn Face>>,
}

impl Call {
    /// Of this tool with these arguments.
    pub fn new(tool: impl Into<String>, arguments: Map<String, Value>) -> Self {
        let (tool, task) = (tool.into(), String::new());
        Self { tool, arguments, task, correlation: None, traceparent: None, timeout: None, face: None }
    }

    /// As part of this task.
    pub fn of_task(mut self, task: impl Into<String>) -> Self {
        self.task = task.into();
        self
    }
}

/// What a server's tool answered. Untrusted.
#[derive(Debug, Clone, PartialEq)]
pub struct Called {
    /// For model and user.
    pub content: Vec<Content>,
    /// For programs.
    pub structured: Option<Value>,
    /// The tool reports a failure of its own.
    pub is_error: bool,
    /// Not for others.
    pub private: bool,
    /// The arguments with which it ran, where somebody on the server's side changed them.
    pub edited: Option<Value>,
    /// What else the server says of it.
    pub meta: Map<String, Value>,
}

/// Where a call comes from.
pub(super) enum Source {
    /// The agent itself.
    Own,
    /// A plugin, or a client through this host.
    Under(Box<Under>),
}

/// What a call on behalf of another one inherits.
pub(super) struct Under {
    pub(super) lineage: Lineage,
    pub(super) budget: Budget,
    pub(super) pausable_deadline: PausableDeadline,
    pub(super) held: u64,
    pub(super) principal: Principal,
    pub(super) client: Arc<dyn ClientCalls>,
    pub(super) sink: Arc<dyn CallSink>,
    pub(super) questions: Questions,
    /// How long an answer may take.
    pub(super) answer: Duration,
    /// Of a reverse call of this very server.
    pub(super) chain: Option<String>,
}

impl Under {
    /// Of a reverse call.
    pub(super) fn of(call: &ReverseCall, chain: Option<String>) -> Self {
        Self {
            lineage: call.lineage.clone(),
            budget: call.budget,
            pausable_deadline: call.pausable_deadline.clone(),
            held: call.held,
            principal: call.context.principal.clone(),
            client: call.client.clone(),
            sink: call.sink.clone(),
            questions: call.questions.clone(),
            answer: call.answer,
            chain,
        }
    }
}

/// Makes a call.
pub(super) async fn make(shared: &Arc<Shared>, call: Call, source: Source) -> Result<Called, UpstreamError> {
    let link = shared.link()?;
    let server = shared.name();
    let tool = shared.tool(&call.tool)?;
    let arguments = Value::Object(call.arguments);
    tool.input.check(&arguments).map_err(UpstreamError::InvalidArguments)?;
    let Value::Object(arguments) = arguments else { return Err(UpstreamError::Cancelled) };
    let limits = &shared.offer.limits;
    let now = shared.clock.now();
    let mut passed = None;
    let (voice, chain, back) = match source {
        Source::Under(under) => {
            let (caller, chunks) = Caller::new(&under);
            let Under { lineage, budget, pausable_deadline, held, principal, chain, .. } = *under;
            // What the server calls is offered by this host, whoever called the server.
            let agent = shared.offer.agent.clone();
            let lineage = lineage.tightened(limits);
            let budget = budget.nested(limits, now);
            passed = Some((caller.clone(), chunks));
            (Voice::Client(caller), Chain { lineage, budget, pausable_deadline, held, principal, agent }, chain)
        }
        Source::Own => {
            let face = call.face.unwrap_or_else(|| shared.face.clone());
            let chain = Chain {
                lineage: Lineage::root(format!("{server}.{}", call.tool), limits),
                budget: Budget::root(limits, now),
                pausable_deadline: PausableDeadline::new(shared.clock.clone()),
                held: 0,
                principal: Principal::local(),
                agent: shared.offer.agent.clone(),
            };
            (Voice::Face(face, Questions::new(limits.questions)), chain, None)
        }
    };
    let from = Asker { server: server.to_owned(), plugin: None, task: call.task };
    let offered = Offered::new(shared.offer.clone(), chain, shared.clock.clone());
    let opened = shared.open.open(from, voice, offered, call.correlation.clone());
    let Some(opened) = opened else {
        return Err(UpstreamError::Busy { server: server.to_owned(), limit: super::open::MAX_OPEN });
    };
    let timeout = call.timeout.unwrap_or(shared.settings.patience());
    let rounds = Rounds { shared, link, opened, tool, timeout, trace: call.traceparent, back };
    match passed {
        Some((caller, chunks)) => caller.pass_on(chunks, rounds.run(arguments)).await,
        None => rounds.run(arguments).await,
    }
}
