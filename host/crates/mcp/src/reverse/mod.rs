//! Reverse calls to tools that live with the client: the extension `dev.portcullis/client-tools`, whose document is
//! `wit/extensions/client-tools.md`.
//!
//! [`Lanes`] is one call's way to all tools of the agent's side: first those of this host, then the client's, and last
//! those for which its model or user stands in. Which way a call of the client's takes is decided in [`Lanes::lane`] and
//! nowhere else.

mod ask;
mod chain;
mod counted;
mod declared;
pub(super) mod live;
mod outcome;
pub(super) mod request;
pub(super) mod retry;

pub use ask::AskTools;
pub(super) use chain::Chains;
pub(super) use declared::Declared;

use super::asking::View;
use super::pending::{Ask, Outgoing};
use super::session::Session;
use super::stream::Event;
use async_trait::async_trait;
use counted::Counted;
use declared::DeclaredTool;
use live::{Channels, Lost};
use platform::clock::Clock;
use policy::{Principal, Spent};
use rmcp::ErrorData;
use rmcp::service::{RequestContext, RoleServer};
use runtime::imports::{
    AgentError, AgentResult, AgentTool, Budgeted, ClientError, Exhaustion, Origin, ReverseCall, ToolCaller,
};
use serde_json::{Map, Value, json};
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// The extension, and the key of its `_meta` in a request.
pub const EXTENSION: &str = "dev.portcullis/client-tools";
/// Where a modern request says what its client can do.
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// How much of a plugin's reason for a call is told, in characters.
const MAX_PURPOSE: usize = 1_000;
/// How much later than a channel the call on it gives up.
const GRACE: Duration = Duration::from_secs(1);

/// What the server says of itself.
pub(super) fn settings() -> Map<String, Value> {
    let lanes = json!(["live", "retry", "request"]);
    Map::from_iter([("lanes".to_owned(), lanes)])
}

/// What a request brings along for reverse calls.
#[derive(Default)]
pub(super) struct Brought {
    /// What may be called on it.
    pub(super) declared: Option<Arc<Declared>>,
    /// The call that it goes on with.
    pub(super) retry: Option<retry::Retry>,
}

impl Brought {
    /// Of a request; costs one that has nothing to do with the extension a few look-ups.
    pub(super) fn of(context: &RequestContext<RoleServer>) -> Result<Self, ErrorData> {
        let refused = |why| ErrorData::invalid_params(why, None);
        let stateless = super::round::is_stateless(context);
        let declared = match context.meta.get(CAPABILITIES) {
            Some(capabilities) => declaration(capabilities)
                .map_or(Ok(None), |value| Declared::read(value, stateless))
                .map(|declared| declared.map(Arc::new)),
            None => match context.extensions.get::<Arc<Session>>() {
                Some(session) => session.declared(|| of_session(context)),
                None => Ok(None),
            },
        };
        let retry = if stateless { retry::Retry::of(context)? } else { None };
        Ok(Self { declared: declared.map_err(refused)?, retry })
    }
}

/// Where a library has no field for extensions, it declares them as experiments.
fn declaration(capabilities: &Value) -> Option<&Value> {
    ["extensions", "experimental"].into_iter().find_map(|field| capabilities.get(field)?.get(EXTENSION))
}

/// What a legacy client has declared once for its session.
fn of_session(context: &RequestContext<RoleServer>) -> Result<Option<Arc<Declared>>, String> {
    let Some(client) = context.peer.peer_info() else { return Ok(None) };
    let of = |extensions: &std::collections::BTreeMap<String, Map<String, Value>>| extensions.get(EXTENSION).cloned();
    let capabilities = &client.capabilities;
    let declared = capabilities.extensions.as_ref().and_then(of).or(capabilities.experimental.as_ref().and_then(of));
    let Some(declared) = declared else { return Ok(None) };
    Ok(Declared::read(&Value::Object(declared), false)?.map(Arc::new))
}

/// How a call reaches a tool of the client's.
enum Lane {
    /// Over this channel, which the client has open.
    Live(String),
    /// By whoever serves the call's current request: as its result (`retry`) or as a request on its stream (`request`).
    Round,
}

/// One call's way to the tools of the agent's side.
pub(super) struct Lanes {
    hub: Hub,
    principal: Principal,
    view: Arc<View>,
    queue: mpsc::Sender<Event>,
    stateless: bool,
    counted: Counted,
    keys: AtomicU64,
}

/// What the lanes of all calls share.
#[derive(Clone)]
pub(super) struct Hub {
    /// The host's own tools.
    pub(super) host: Arc<dyn ToolCaller>,
    /// Streams that clients have open.
    pub(super) channels: Channels,
    /// Tools for which others may stand in.
    pub(super) ask: Option<Arc<AskTools>>,
    /// Calls that are under way on the other side.
    pub(super) chains: Chains,
    pub(super) clock: Arc<dyn Clock>,
}

impl Lanes {
    pub(super) fn new(
        hub: &Hub,
        principal: Principal,
        view: Arc<View>,
        queue: mpsc::Sender<Event>,
        stateless: bool,
    ) -> Self {
        let (hub, counted, keys) = (hub.clone(), Counted::default(), AtomicU64::new(1));
        Self { hub, principal, view, queue, stateless, counted, keys }
    }

    /// The first lane that both sides have at this moment.
    fn lane(&self, declared: &Declared) -> Option<Lane> {
        let is_open = |channel: &&String| declared.lanes.live && self.hub.channels.is_open(&self.principal, channel);
        if let Some(channel) = declared.channel.as_ref().filter(is_open) {
            return Some(Lane::Live(channel.clone()));
        }
        let round = if self.stateless { declared.lanes.retry } else { declared.lanes.request };
        round.then_some(Lane::Round)
    }

    /// The client's tool, its declaration and the way there; otherwise who was asked and what would help.
    fn of_client(&self, name: &str) -> Result<(Arc<Declared>, Lane), AgentError> {
        let Some(declared) = self.view.declared() else { return Err(undeclared(name)) };
        if declared.tool(name).is_none() {
            return Err(AgentError::UnknownTool(name.to_owned()));
        }
        match self.lane(&declared) {
            Some(lane) => Ok((declared, lane)),
            None => {
                let lane = if self.stateless { "retry" } else { "request" };
                let channel =
                    if declared.channel.is_some() { "its channel is not open" } else { "it names no channel" };
                let text = format!(
                    "the client has `{name}` but no way to call it is open: {channel}, and `{lane}` is not among the \
                     `lanes` of its declaration"
                );
                Err(AgentError::NotSupported(text))
            }
        }
    }

    /// A call that was checked, to its end; what it costs is what comes back from it into the host.
    async fn call_client(&self, call: ReverseCall) -> (Result<AgentResult, AgentError>, Spent) {
        let now = self.hub.clock.now();
        let chain = match self.hub.chains.name(&self.principal, &call.lineage, &call.budget, now) {
            Ok(chain) => chain,
            Err(error) => {
                let why = format!("the host cannot name the call: {error}");
                return (Err(AgentError::Failed(why)), Spent::default());
            }
        };
        let result = self.called(call, chain.as_str()).await;
        (result, chain.spent())
    }

    async fn called(&self, call: ReverseCall, chain: &str) -> Result<AgentResult, AgentError> {
        let (declared, lane) = self.of_client(&call.name)?;
        call.lane.take(match (&lane, self.stateless) {
            (Lane::Live(_), _) => "live",
            (Lane::Round, true) => "retry",
            (Lane::Round, false) => "request",
        });
        let Some(tool) = declared.tool(&call.name) else { return Err(AgentError::UnknownTool(call.name)) };
        let arguments = checked(&call.arguments, tool)?;
        self.counted.count(&declared, tool, call.arguments.len())?;
        let left = call.lineage.patience()?.min(call.answer);
        let patience = call.timeout.map_or(left, |timeout| timeout.min(left));
        let fields = fields(&call, arguments, patience, chain);
        let began = self.hub.clock.now();
        let mut outcome = None;
        let waiting = async {
            // A channel has a clock of its own, so that its client hears why nobody waits any more.
            let grace = if let Lane::Live(_) = lane { GRACE } else { Duration::ZERO };
            outcome = tokio::time::timeout(patience + grace, async {
                let _turn = self.counted.turn(declared.limits.parallel).await;
                match &lane {
                    Lane::Live(channel) => self.ask_live(channel, fields, patience).await,
                    Lane::Round => self.ask_round(&call, fields, left).await,
                }
            })
            .await
            .ok();
        };
        call.client.stand_by(Box::pin(waiting)).await.map_err(stopped)?;
        let waited = self.hub.clock.now().saturating_duration_since(began);
        call.lineage.waited(waited);
        // A parked call has nobody who looks at the time.
        let Some(outcome) = outcome.filter(|_| waited < patience) else { return Err(outcome::timeout(patience)) };
        let asked = outcome::Asked { name: &call.name, private: tool.private, patience, calls: self.counted.calls() };
        let (result, private) = outcome::read(outcome?, &asked);
        if private {
            // Even a failure may tell something.
            call.lineage.confide(Origin::Client);
        }
        result
    }

    /// Asks on a channel.
    async fn ask_live(&self, channel: &str, fields: Value, patience: Duration) -> Result<Value, AgentError> {
        self.hub.channels.call(&self.principal, channel, fields, patience).await.map_err(|lost| match lost {
            Lost::Closed => {
                AgentError::NotSupported("the client closed the channel that its tools are called on".into())
            }
            Lost::Full(limit) => AgentError::Exhausted(Exhaustion { budget: Budgeted::Calls, limit: limit as u64 }),
            Lost::Timeout => outcome::timeout(patience),
        })
    }

    /// What the operator has described for this case, if somebody can stand in for the tool.
    fn standing_in(&self, name: &str) -> Option<(&AskTools, Origin)> {
        let ask = self.hub.ask.as_deref()?;
        Some((ask, ask.find(name, self.view.abilities())?))
    }

    /// Has somebody on the client's side stand in.
    async fn call_stand_in(&self, ask: &AskTools, call: ReverseCall) -> Result<AgentResult, AgentError> {
        call.lane.take("ask");
        let left = call.lineage.patience()?.min(call.answer);
        let patience = call.timeout.map_or(left, |timeout| timeout.min(left));
        let key = format!("tool-{}", self.keys.fetch_add(1, Ordering::Relaxed));
        let began = self.hub.clock.now();
        // A parked call is kept for as long as its answer may take, whatever the plugin's patience.
        let result = ask.call(&call, key, if self.stateless { left } else { patience }).await;
        let waited = self.hub.clock.now().saturating_duration_since(began);
        call.lineage.waited(waited);
        if waited < patience { result } else { Err(outcome::timeout(patience)) }
    }

    /// Has whoever serves the call's current request ask.
    async fn ask_round(&self, call: &ReverseCall, fields: Value, keep: Duration) -> Result<Value, AgentError> {
        let (answer, answered) = oneshot::channel();
        let key = format!("call-{}", self.keys.fetch_add(1, Ordering::Relaxed));
        let ask = Outgoing { key, fields, keep, parent: call.parent.clone(), held: call.held, answer };
        // Whoever serves the call is gone when it is cancelled.
        self.queue.send(Event::Ask(Box::new(Ask::Call(ask)))).await.map_err(|_| AgentError::Cancelled)?;
        answered.await.map_err(|_| AgentError::Cancelled)?
    }
}

#[async_trait]
impl ToolCaller for Lanes {
    fn tools(&self) -> Vec<AgentTool> {
        let mut tools = self.hub.host.tools();
        if let Some(declared) = self.view.declared().filter(|declared| self.lane(declared).is_some()) {
            let own = declared.tools.iter().filter(|it| self.hub.host.find(&it.tool.name).is_err());
            tools.extend(own.map(|it| AgentTool { tool: it.tool.clone(), origin: Origin::Client }));
        }
        if let Some(ask) = &self.hub.ask {
            let known: HashSet<String> = tools.iter().map(|found| found.tool.name.clone()).collect();
            tools.extend(ask.tools(self.view.abilities()).filter(|found| !known.contains(&found.tool.name)));
        }
        tools
    }

    fn find(&self, name: &str) -> Result<Origin, AgentError> {
        let others = || match self.of_client(name) {
            Ok(_) => Ok(Origin::Client),
            Err(error) => self.standing_in(name).map(|(_, origin)| origin).ok_or(error),
        };
        match self.hub.host.find(name) {
            Err(AgentError::UnknownTool(_)) => others(),
            found => found,
        }
    }

    async fn call(&self, call: ReverseCall) -> (Result<AgentResult, AgentError>, Spent) {
        if self.hub.host.find(&call.name).is_ok() {
            let _under_way = self.view.begin(&call.parent, Some(&call.context.id));
            return self.hub.host.call(call).await;
        }
        let _under_way = self.view.begin(&call.parent, None);
        let stand_in = if self.of_client(&call.name).is_ok() { None } else { self.standing_in(&call.name) };
        match stand_in {
            Some((ask, _)) => (self.call_stand_in(ask, call).await, Spent::default()),
            None => self.call_client(call).await,
        }
    }

    fn lacks_declaration(&self) -> bool {
        self.view.declared().is_none()
    }
}

/// The way of a call whose client declared nothing and is not asked anything: the host's own tools alone.
pub(super) struct HostOnly(pub(super) Arc<dyn ToolCaller>);

#[async_trait]
impl ToolCaller for HostOnly {
    fn tools(&self) -> Vec<AgentTool> {
        self.0.tools()
    }

    fn find(&self, name: &str) -> Result<Origin, AgentError> {
        match self.0.find(name) {
            Err(AgentError::UnknownTool(_)) => Err(undeclared(name)),
            found => found,
        }
    }

    async fn call(&self, call: ReverseCall) -> (Result<AgentResult, AgentError>, Spent) {
        self.0.call(call).await
    }

    fn lacks_declaration(&self) -> bool {
        true
    }
}

fn undeclared(name: &str) -> AgentError {
    AgentError::NotSupported(format!(
        "this host has no tool `{name}`, and the client of this call declared none of its own; the extension \
         `{EXTENSION}` would allow it to"
    ))
}

/// Arguments that the tool takes.
fn checked(arguments: &str, tool: &DeclaredTool) -> Result<Value, AgentError> {
    let arguments: Value = serde_json::from_str(arguments)
        .map_err(|error| AgentError::InvalidArguments(format!("they are not JSON: {error}")))?;
    if !arguments.is_object() {
        return Err(AgentError::InvalidArguments("they are not a JSON object".into()));
    }
    tool.check(&arguments).map_err(AgentError::InvalidArguments)?;
    Ok(arguments)
}

/// A call as the extension describes it.
fn fields(call: &ReverseCall, arguments: Value, patience: Duration, chain: &str) -> Value {
    let above = call.lineage.above().unwrap_or_default();
    let of_plugin = |prefix: &str| above.strip_prefix(prefix)?.strip_prefix('.').map(str::to_owned);
    let tool = of_plugin(&call.plugin.table()).or_else(|| of_plugin(&call.plugin.name));
    let mut fields = json!({
        "name": call.name,
        "arguments": arguments,
        "plugin": call.plugin.name,
        "tool": tool.unwrap_or_else(|| above.to_owned()),
        "parent": call.parent,
        "timeoutMs": u64::try_from(patience.as_millis()).unwrap_or(u64::MAX),
        "chain": chain,
    });
    if let Some(purpose) = &call.purpose {
        fields["purpose"] = purpose.chars().take(MAX_PURPOSE).collect::<String>().into();
    }
    fields
}

/// Why a call could not even wait.
fn stopped(error: ClientError) -> AgentError {
    match error {
        ClientError::Exhausted(exhaustion) => AgentError::Exhausted(exhaustion),
        ClientError::Cancelled => AgentError::Cancelled,
        other => AgentError::Failed(format!("it cannot be waited for: {other:?}")),
    }
}
