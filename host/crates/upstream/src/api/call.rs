//! One call of a server's tool as data: the request, its result, and what it inherits from its caller.

use crate::api::handler::AgentHandler;
use crate::api::links::Links;
use crate::api::resume_point::ResumePoint;
use policy::{Budget, Lineage, Principal};
use runtime::engine::{HeldResources, PausableClock};
use runtime::imports::{CallSink, ClientCalls, Content, ReverseCall};
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// A tool call to make.
pub struct UpstreamCall {
    /// The server's own name of the tool.
    pub tool: String,
    pub arguments: Map<String, Value>,
    /// Groups calls for approval "once per task".
    pub task: String,
    /// Correlation ID that the server repeats in everything that belongs to the call.
    pub correlation: Option<String>,
    /// W3C trace context.
    pub traceparent: Option<String>,
    /// Time limit, which does not count while a question is being answered. Default: the server's settings.
    pub timeout: Option<Duration>,
    /// Answers the server during this call, in place of the connection's handler.
    pub handler: Option<Arc<dyn AgentHandler>>,
    /// Whether it may become a task of the server. Such a task is followed to its end, without a time limit.
    pub may_become_task: bool,
    /// Where to continue a call that an earlier process began.
    pub resumes: Option<ResumePoint>,
    /// Cancels the call on the server, also when it is a task. A task whose call is only dropped goes on there.
    pub cancel: CancellationToken,
}

impl UpstreamCall {
    pub fn new(tool: impl Into<String>, arguments: Map<String, Value>) -> Self {
        Self {
            tool: tool.into(),
            arguments,
            task: String::new(),
            correlation: None,
            traceparent: None,
            timeout: None,
            handler: None,
            may_become_task: false,
            resumes: None,
            cancel: CancellationToken::new(),
        }
    }

    pub fn with_task(mut self, task: impl Into<String>) -> Self {
        self.task = task.into();
        self
    }
}

/// The result of a server's tool. Untrusted.
#[derive(Debug, Clone, PartialEq)]
pub struct UpstreamResult {
    pub content: Vec<Content>,
    pub structured: Option<Value>,
    /// The tool reported a failure.
    pub is_error: bool,
    /// The server said that it is private to the caller and its client.
    pub private: bool,
    /// The rest of its `_meta`, without keys of the host's namespace.
    pub meta: Map<String, Value>,
}

/// The maker of a call.
pub(crate) enum CallSource {
    /// The agent itself.
    Agent,
    /// A plugin, or a client through this host.
    Caller(Box<CallerScope>),
}

/// The values that a call inherits from the call on whose behalf it runs.
pub(crate) struct CallerScope {
    pub(crate) lineage: Lineage,
    pub(crate) budget: Budget,
    pub(crate) pausable_clock: PausableClock,
    /// What the tree of calls holds.
    pub(crate) held: HeldResources,
    pub(crate) principal: Principal,
    pub(crate) client: Arc<dyn ClientCalls>,
    pub(crate) sink: Arc<dyn CallSink>,
    /// Time limit for one answer.
    pub(crate) answer_timeout: Duration,
    /// The chain name, if the caller is a reverse call of this same server.
    pub(crate) chain: Option<String>,
    /// Gives addresses to links in what the server sends.
    pub(crate) links: Links,
}

impl CallerScope {
    pub(crate) fn new(call: &ReverseCall, chain: Option<String>, links: Links) -> Self {
        Self {
            lineage: call.lineage.clone(),
            budget: call.budget,
            pausable_clock: call.pausable_clock.clone(),
            held: call.held.clone(),
            principal: call.context.principal.clone(),
            client: call.client.clone(),
            sink: call.sink.clone(),
            answer_timeout: call.answer_timeout,
            chain,
            links,
        }
    }
}
