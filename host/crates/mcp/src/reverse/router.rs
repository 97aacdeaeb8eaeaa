//! Routes a reverse call to a tool of the host, a tool of the client, or the client's model or user that stands in for one.

use super::call_params;
use super::chains::CallChains;
use super::counter::ReverseCallCounter;
use super::host_tools::undeclared_error;
use super::live::{ChannelError, LiveChannels};
use super::outcome;
use super::stand_in::StandInTools;
use crate::client::pending::{PendingRequest, PendingReverseCall, no_outcome};
use crate::client::stream::CallEvent;
use crate::client::view::RequestView;
use crate::client_tools::ToolDeclaration;
use async_trait::async_trait;
use futures::future::BoxFuture;
use platform::clock::Clock;
use policy::Principal;
use runtime::imports::{
    AgentError, AgentResult, AgentTool, BudgetKind, ClientError, Exhaustion, Origin, ReverseCall, ReverseOutcome, Tool,
    ToolCaller,
};
use runtime::journal::Repeat;
use serde_json::Value;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// How much longer a call waits than its channel. The channel's own timeout comes first, so that the client learns that its
/// answer is not awaited any more.
const CHANNEL_GRACE: Duration = Duration::from_secs(1);

/// How a call reaches a tool of the client.
enum Lane {
    /// Through the open channel with this name.
    Live(String),
    /// Through the request that serves the call: as its result (`retry`), or as a request on its stream (`request`).
    CurrentRequest,
}

/// One call's access to the tools of the agent's side. [`LaneRouter::choose_lane`] is the only place that decides which
/// lane a reverse call takes.
pub(crate) struct LaneRouter {
    resources: LaneResources,
    principal: Principal,
    view: Arc<RequestView>,
    queue: mpsc::Sender<CallEvent>,
    stateless: bool,
    counter: ReverseCallCounter,
    next_key: AtomicU64,
}

/// What all calls share for their reverse calls.
#[derive(Clone)]
pub(crate) struct LaneResources {
    /// The host's own tools.
    pub(crate) host: Arc<dyn ToolCaller>,
    pub(crate) channels: LiveChannels,
    /// Tools for which the client's model or user may stand in.
    pub(crate) stand_in_tools: Option<Arc<StandInTools>>,
    pub(crate) chains: CallChains,
    pub(crate) clock: Arc<dyn Clock>,
}

impl LaneRouter {
    pub(crate) fn new(
        resources: &LaneResources,
        principal: Principal,
        view: Arc<RequestView>,
        queue: mpsc::Sender<CallEvent>,
        stateless: bool,
    ) -> Self {
        let (resources, counter, next_key) = (resources.clone(), ReverseCallCounter::default(), AtomicU64::new(1));
        Self { resources, principal, view, queue, stateless, counter, next_key }
    }

    /// The first lane that host and client both have at this moment.
    fn choose_lane(&self, declaration: &ToolDeclaration) -> Option<Lane> {
        let is_open =
            |channel: &&String| declaration.lanes.live && self.resources.channels.is_open(&self.principal, channel);
        if let Some(channel) = declaration.channel.as_ref().filter(is_open) {
            return Some(Lane::Live(channel.clone()));
        }
        let supported = if self.stateless { declaration.lanes.retry } else { declaration.lanes.request };
        supported.then_some(Lane::CurrentRequest)
    }

    /// The declaration that has the tool, and the lane to it. The error says what the client would have to change.
    fn find_client_tool(&self, name: &str) -> Result<(Arc<ToolDeclaration>, Lane), AgentError> {
        let Some(declaration) = self.view.declaration() else { return Err(undeclared_error(name)) };
        if declaration.tool(name).is_none() {
            return Err(AgentError::UnknownTool(name.to_owned()));
        }
        match self.choose_lane(&declaration) {
            Some(lane) => Ok((declaration, lane)),
            None => {
                let lane = if self.stateless { "retry" } else { "request" };
                let channel =
                    if declaration.channel.is_some() { "its channel is not open" } else { "it names no channel" };
                let text = format!(
                    "the client has `{name}` but no way to call it is open: {channel}, and `{lane}` is not among the \
                     `lanes` of its declaration"
                );
                Err(AgentError::NotSupported(text))
            }
        }
    }

    /// Replaces `lane` by the lane in the call's journal, if that has one: in another lane, a client that has run the tool
    /// already would run it again.
    fn recorded_lane(&self, call: &ReverseCall, declaration: &ToolDeclaration, lane: Lane) -> Result<Lane, AgentError> {
        match (call.again, &lane) {
            (Some(Repeat::Safe), Lane::Live(_)) if declaration.lanes.retry => Ok(Lane::CurrentRequest),
            (Some(Repeat::Safe), Lane::Live(_)) => {
                let why =
                    "the client opened its channel after the call had begun, and `retry` is not among its `lanes`";
                Err(AgentError::NotSupported(why.into()))
            }
            (Some(Repeat::Safe | Repeat::Unsafe) | None, _) => Ok(lane),
        }
    }

    /// Calls a tool of the client. The cost in the outcome is what that tool has used through calls into this host.
    async fn call_client(&self, call: ReverseCall) -> ReverseOutcome {
        let chain = match self.resources.chains.open(&self.principal, &call.lineage, &call.budget, call.time_left()) {
            Ok(chain) => chain,
            Err(error) => {
                let why = format!("the host cannot name the call: {error}");
                return ReverseOutcome::unasked(AgentError::Failed(why));
            }
        };
        let asked = self.call_in_chain(call, chain.as_str()).await;
        let (answer, private) = asked.unwrap_or_else(|error| (Err(error), false));
        let (private, spent) = (private.then_some(Origin::Client), chain.usage());
        ReverseOutcome { private, spent, ..ReverseOutcome::free(answer) }
    }

    /// Returns the client's answer and whether it is private, or an error if the client was not asked.
    async fn call_in_chain(
        &self,
        call: ReverseCall,
        chain: &str,
    ) -> Result<(Result<AgentResult, AgentError>, bool), AgentError> {
        let (declaration, lane) = self.find_client_tool(&call.name)?;
        let lane = self.recorded_lane(&call, &declaration, lane)?;
        call.lane.take(match (&lane, self.stateless) {
            (Lane::Live(_), _) => "live",
            (Lane::CurrentRequest, true) => "retry",
            (Lane::CurrentRequest, false) => "request",
        });
        let Some(tool) = declaration.tool(&call.name) else { return Err(AgentError::UnknownTool(call.name)) };
        call_params::check_arguments(&call.arguments, tool)?;
        self.counter.count(&declaration, tool, call.arguments.text().len())?;
        let left = call.lineage.remaining_wait()?.min(call.answer_timeout);
        let timeout = call.timeout.map_or(left, |timeout| timeout.min(left));
        let fields = call_params::to_fields(&call, timeout, chain);
        let (key, step) = (self.key(&call), call.journal.name());
        let started = self.resources.clock.now();
        let mut outcome = None;
        let waiting = async {
            let grace = if let Lane::Live(_) = lane { CHANNEL_GRACE } else { Duration::ZERO };
            outcome = tokio::time::timeout(timeout + grace, async {
                let _permit = self.counter.acquire(declaration.limits.parallel).await;
                match &lane {
                    Lane::Live(channel) => self.send_live(channel, fields, timeout).await,
                    Lane::CurrentRequest => {
                        let ask =
                            |answer| PendingReverseCall { key, fields, timeout: left, waits: timeout, step, answer };
                        self.send_with_request(ask).await
                    }
                }
            })
            .await
            .ok();
        };
        call.client.wait_outside(Box::pin(waiting)).await.map_err(wait_error)?;
        let waited = self.resources.clock.now().saturating_duration_since(started);
        call.lineage.count_wait(waited);
        // The timer of a parked call is not polled, so the elapsed time decides.
        let info = outcome::CallInfo { name: &call.name, private: tool.private, timeout, calls: self.counter.total() };
        Ok(match outcome.filter(|_| waited < timeout) {
            Some(Ok(outcome)) => outcome::parse(outcome, &info),
            Some(Err(error)) => (Err(error), tool.private),
            None => (Err(outcome::timeout_error(timeout)), tool.private),
        })
    }

    async fn send_live(&self, channel: &str, fields: Value, timeout: Duration) -> Result<Value, AgentError> {
        let outcome = self.resources.channels.call(&self.principal, channel, fields, timeout).await;
        outcome.map_err(|error| match error {
            ChannelError::Closed => {
                AgentError::NotSupported("the client closed the channel that its tools are called on".into())
            }
            ChannelError::Full(limit) => {
                AgentError::Exhausted(Exhaustion { budget: BudgetKind::Calls, limit: limit as u64 })
            }
            ChannelError::Timeout => outcome::timeout_error(timeout),
        })
    }

    /// The key of the call, unique within the guest's call. With a journal, every run of the call makes the same key.
    fn key(&self, call: &ReverseCall) -> String {
        match call.journal.name() {
            Some(step) => format!("call-{step}"),
            None => format!("call-{}", self.next_key.fetch_add(1, Ordering::Relaxed)),
        }
    }

    fn find_stand_in(&self, name: &str) -> Option<(&StandInTools, Origin)> {
        let tools = self.resources.stand_in_tools.as_deref()?;
        Some((tools, tools.find(name, self.view.abilities())?))
    }

    async fn call_stand_in(&self, tools: &StandInTools, call: ReverseCall) -> Result<AgentResult, AgentError> {
        call.lane.take("ask");
        let left = call.lineage.remaining_wait()?.min(call.answer_timeout);
        let timeout = call.timeout.map_or(left, |timeout| timeout.min(left));
        let key = match call.journal.name() {
            Some(step) => format!("tool-{step}"),
            None => format!("tool-{}", self.next_key.fetch_add(1, Ordering::Relaxed)),
        };
        let started = self.resources.clock.now();
        // A parked call is kept for as long as its answer may take, even if the plugin's own timeout is shorter.
        let result = tools.call(&call, key, if self.stateless { left } else { timeout }).await;
        let waited = self.resources.clock.now().saturating_duration_since(started);
        call.lineage.count_wait(waited);
        if waited < timeout { result } else { Err(outcome::timeout_error(timeout)) }
    }

    /// Passes the call to the task that serves the current request.
    async fn send_with_request(
        &self,
        ask: impl FnOnce(oneshot::Sender<Result<Value, AgentError>>) -> PendingReverseCall,
    ) -> Result<Value, AgentError> {
        let (answer, answered) = oneshot::channel();
        let ask = ask(answer);
        // An earlier instance of the call may have asked this already.
        let was_asked = self.view.take_asked(&ask.key);
        if let Some(outcome) = self.view.take_outcome(&ask.key) {
            return Ok(outcome);
        }
        if was_asked {
            return Err(no_outcome());
        }
        // If sending fails, the task has ended, because the call is cancelled.
        self.queue
            .send(CallEvent::Request(Box::new(PendingRequest::ReverseCall(ask))))
            .await
            .map_err(|_| AgentError::Cancelled)?;
        answered.await.map_err(|_| AgentError::Cancelled)?
    }
}

#[async_trait]
impl ToolCaller for LaneRouter {
    fn tools(&self) -> Vec<AgentTool> {
        let host = &self.resources.host;
        let mut tools = host.tools();
        if let Some(declaration) = self.view.declaration().filter(|it| self.choose_lane(it).is_some()) {
            let of_client = declaration.tools.iter().filter(|it| host.find(&it.tool.name).is_err());
            tools.extend(of_client.map(|it| AgentTool { tool: it.tool.clone(), origin: Origin::Client }));
        }
        if let Some(stand_in) = &self.resources.stand_in_tools {
            let known: HashSet<String> = tools.iter().map(|it| it.tool.name.clone()).collect();
            tools.extend(stand_in.tools(self.view.abilities()).filter(|it| !known.contains(&it.tool.name)));
        }
        tools
    }

    fn tool(&self, name: &str) -> Option<Tool> {
        let host = &self.resources.host;
        if host.find(name).is_ok() {
            return host.tool(name);
        }
        self.tools().into_iter().find(|found| found.tool.name == name).map(|found| found.tool)
    }

    fn find(&self, name: &str) -> Result<Origin, AgentError> {
        match self.resources.host.find(name) {
            Err(AgentError::UnknownTool(_)) => match self.find_client_tool(name) {
                Ok(_) => Ok(Origin::Client),
                Err(error) => self.find_stand_in(name).map(|(_, origin)| origin).ok_or(error),
            },
            found => found,
        }
    }

    fn again(&self, name: &str, begun: Option<Repeat>) -> Repeat {
        let host = &self.resources.host;
        if host.find(name).is_ok() {
            return host.again(name, begun);
        }
        // A call that an earlier run has begun goes on in the same lane.
        begun.unwrap_or_else(|| match self.find_client_tool(name) {
            // The client is asked again under the same key, and repeats the outcome that it has.
            Ok((_, Lane::CurrentRequest)) if self.stateless => Repeat::Safe,
            Ok(_) => Repeat::Unsafe,
            Err(_) => Repeat::Safe,
        })
    }

    fn replayed(&self, name: &str) {
        match self.resources.host.find(name) {
            Ok(_) => self.resources.host.replayed(name),
            Err(_) => {
                if let Some(declaration) = self.view.declaration()
                    && let Some(tool) = declaration.tool(name)
                {
                    // The call was within the limits when it was made, so the result does not matter.
                    let _ = self.counter.count(&declaration, tool, 0);
                }
            }
        }
    }

    async fn wait_for_tool(&self, name: &str) {
        self.resources.host.wait_for_tool(name).await;
    }

    async fn call(&self, call: ReverseCall) -> ReverseOutcome {
        match self.resources.host.find(&call.name) {
            Ok(_) => {
                let _running = self.view.begin_nested(&call.parent, Some(&call.context.id));
                return self.resources.host.call(call).await;
            }
            Err(AgentError::UnknownTool(_)) => {}
            // The tool belongs to the host and is not available at the moment. A tool of the client with the same name must not
            // replace it.
            Err(error) => return ReverseOutcome::unasked(error),
        }
        let _running = self.view.begin_nested(&call.parent, None);
        let stand_in = if self.find_client_tool(&call.name).is_ok() { None } else { self.find_stand_in(&call.name) };
        match stand_in {
            Some((tools, _)) => ReverseOutcome::free(self.call_stand_in(tools, call).await),
            None => self.call_client(call).await,
        }
    }

    async fn accompany(&self, parent: &str, id: &str, call: BoxFuture<'_, ReverseOutcome>) -> ReverseOutcome {
        let _running = self.view.begin_nested(parent, Some(id));
        call.await
    }

    fn lacks_declaration(&self) -> bool {
        self.view.declaration().is_none()
    }
}

/// The error of a call that could not start to wait.
fn wait_error(error: ClientError) -> AgentError {
    match error {
        ClientError::Exhausted(exhaustion) => AgentError::Exhausted(exhaustion),
        ClientError::Cancelled => AgentError::Cancelled,
        other => AgentError::Failed(format!("it cannot be waited for: {other:?}")),
    }
}
