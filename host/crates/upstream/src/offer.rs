//! What a server may call while a call of ours is open on it, and calling it.

use super::open::OpenCall;
use crate::{Asker, ToolRequest, Verdict};
use async_trait::async_trait;
use platform::audit::Trail;
use platform::clock::Clock;
use platform::telemetry::printable;
use policy::{Budget, Limits, Lineage, PluginId, Principal, Side, Spent, ToolPattern};
use rmcp::model::ContentBlock;
use runtime::engine::PausableDeadline;
use runtime::imports::{
    AgentError, AgentResult, AgentTool, CallContext, Lane, NoSink, ReverseCall, Schema, Tool, ToolCaller, ToolResult,
};
use serde_json::{Map, Value, json};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// Tools of one declaration, as the extension bounds them, and the bytes of it.
const MAX_TOOLS: usize = 128;
const MAX_DECLARATION: usize = 256 << 10;
/// Arguments of one call, in bytes. Bounds what a server makes an agent's tool look at.
const MAX_ARGUMENTS: usize = 64 << 10;
/// Why a tool is called, in the server's words.
const MAX_PURPOSE: usize = 1 << 10;

/// The agent's tools that a server may call.
#[derive(Clone)]
pub struct Offer {
    /// Who runs them.
    pub agent: Arc<dyn ToolCaller>,
    /// Which of them.
    pub allow: Vec<ToolPattern>,
    /// Of all that one open call makes run.
    pub limits: Limits,
}

impl Offer {
    /// None at all.
    pub fn none() -> Self {
        Self { agent: Arc::new(plugins::Nobody), allow: Vec::new(), limits: Limits::default() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.allow.is_empty()
    }

    fn allows(&self, name: &str) -> bool {
        self.allow.iter().any(|pattern| pattern.covers(name))
    }

    /// The tools that `agent` has now and the server may call; not its own ones, which it can call itself.
    fn tools(&self, agent: &dyn ToolCaller, server: &str) -> Vec<AgentTool> {
        let own = format!("{server}.");
        let fits = |found: &AgentTool| self.allows(&found.tool.name) && !found.tool.name.starts_with(&own);
        agent.tools().into_iter().filter(fits).take(MAX_TOOLS).collect()
    }

    /// The extension's settings: what the server may call, and how. None: nothing.
    pub(super) fn declaration(
        &self,
        server: &str,
        lanes: &[&str],
        channel: Option<&str>,
    ) -> Option<Map<String, Value>> {
        let (mut tools, mut size) = (Vec::new(), 0);
        for found in self.tools(&*self.agent, server) {
            let shown = shown(&found.tool);
            size += shown.to_string().len();
            if size > MAX_DECLARATION - 4_096 {
                tracing::warn!(server, "too many tools are offered to it; it does not see all of them");
                break;
            }
            tools.push(shown);
        }
        if tools.is_empty() {
            return None;
        }
        let Limits { calls, parallel, .. } = self.limits;
        let limits = json!({ "calls": calls, "parallel": parallel, "argumentBytes": MAX_ARGUMENTS });
        let mut declared = json!({ "allowServerCalls": true, "tools": tools, "lanes": lanes, "limits": limits });
        if let Some(channel) = channel {
            declared["channel"] = channel.into();
        }
        match declared {
            Value::Object(declared) => Some(declared),
            _ => None,
        }
    }
}

/// A tool as the protocol has it.
fn shown(tool: &Tool) -> Value {
    let schema = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_else(|_| json!({ "type": "object" }));
    let mut shown = json!({
        "name": tool.name,
        "description": tool.description,
        "inputSchema": schema(&tool.input_schema),
    });
    if let Some(title) = &tool.title {
        shown["title"] = title.as_str().into();
    }
    if let Some(output) = &tool.output_schema {
        shown["outputSchema"] = schema(output);
    }
    let hints = &tool.annotations;
    let known = [
        ("readOnlyHint", hints.read_only),
        ("destructiveHint", hints.destructive),
        ("idempotentHint", hints.idempotent),
        ("openWorldHint", hints.open_world),
    ];
    let known: Map<String, Value> =
        known.into_iter().filter_map(|(key, hint)| Some((key.into(), hint?.into()))).collect();
    if !known.is_empty() {
        shown["annotations"] = known.into();
    }
    shown
}

/// What a call hands down to what the server calls meanwhile.
#[derive(Clone)]
pub(super) struct Chain {
    pub(super) lineage: Lineage,
    pub(super) budget: Budget,
    pub(super) pausable_deadline: PausableDeadline,
    pub(super) held: u64,
    pub(super) principal: Principal,
    /// Who answers what the tools call in turn.
    pub(super) agent: Arc<dyn ToolCaller>,
}

/// What a server may call while one call is open.
pub(super) struct Offered {
    offer: Offer,
    chain: Chain,
    spent: Mutex<Spent>,
    parallel: Semaphore,
    over: CancellationToken,
    clock: Arc<dyn Clock>,
}

/// A call as a server describes it.
#[derive(Debug, Clone, Default, PartialEq, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Wanted {
    pub(super) name: String,
    pub(super) arguments: Map<String, Value>,
    pub(super) plugin: Option<String>,
    pub(super) parent: Option<String>,
    pub(super) purpose: Option<String>,
    pub(super) timeout_ms: Option<u64>,
    pub(super) chain: Option<String>,
}

/// How a reverse call ended, in the extension's words.
pub(super) enum Outcome {
    /// A `CallToolResult`.
    Result(Value),
    /// A code of the extension, and a sentence.
    Error(&'static str, String),
}

impl Outcome {
    /// As lanes `retry` and `live` have it.
    pub(super) fn into_value(self) -> Value {
        match self {
            Outcome::Result(result) => result,
            Outcome::Error(code, message) => json!({ "error": { "code": code, "message": message } }),
        }
    }
}

impl Offered {
    pub(super) fn new(offer: Offer, chain: Chain, clock: Arc<dyn Clock>) -> Self {
        let parallel = Semaphore::new(offer.limits.parallel as usize);
        Self { offer, chain, spent: Mutex::default(), parallel, over: CancellationToken::new(), clock }
    }

    /// The call is over: nothing runs for it any more.
    pub(super) fn close(&self) {
        self.over.cancel();
    }

    fn left(&self) -> Budget {
        let spent = *self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        let mut left = self.chain.budget;
        left.fuel = left.fuel.map(|fuel| fuel.saturating_sub(spent.as_fuel()));
        left.cpu = left.cpu.map(|cpu| cpu.saturating_sub(spent.cpu));
        left
    }

    fn pay(&self, more: Spent) {
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        spent.fuel = Some(spent.fuel.unwrap_or_default().saturating_add(more.as_fuel()));
        spent.cpu = spent.cpu.saturating_add(more.cpu);
    }
}

/// Makes one reverse call, on behalf of an open call.
pub(super) async fn serve(open: &Arc<OpenCall>, wanted: Wanted) -> Outcome {
    let offered = &open.offered;
    let timeout = wanted.timeout_ms.map_or(offered.offer.limits.answer, Duration::from_millis);
    let name = wanted.name.clone();
    let serving = async {
        let _answering = open.answering();
        let Ok(_turn) = offered.parallel.acquire().await else { return Err(AgentError::Cancelled) };
        run(open, wanted).await
    };
    let served = tokio::select! {
        biased;
        () = offered.over.cancelled() => Err(AgentError::Cancelled),
        served = tokio::time::timeout(timeout.min(Duration::from_secs(86_400)), serving) => match served {
            Ok(served) => served,
            Err(_) => Err(AgentError::Timeout(u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX))),
        },
    };
    let (server, task) = (&open.from.server, &open.from.task);
    match served {
        Ok(value) => Outcome::Result(value),
        Err(error) => {
            let (code, message) = worded(error);
            tracing::info!(server, task, tool = %printable(&name), code, "reverse call: {}", printable(&message));
            Outcome::Error(code, message)
        }
    }
}

async fn run(open: &Arc<OpenCall>, wanted: Wanted) -> Result<Value, AgentError> {
    let Offered { offer, chain, over, clock, .. } = &open.offered;
    let from = &open.from;
    let tools = offer.tools(&*chain.agent, &from.server);
    let Some(found) = tools.into_iter().find(|found| found.tool.name == wanted.name) else {
        return Err(AgentError::UnknownTool(wanted.name));
    };
    let schema = Schema::compile(&found.tool.input_schema).map_err(|error| AgentError::Failed(error.to_string()))?;
    let fitting = |arguments: &Map<String, Value>| {
        let value = Value::Object(arguments.clone());
        let text = value.to_string();
        if text.len() > MAX_ARGUMENTS {
            let reason = format!("they are {} bytes, more than {MAX_ARGUMENTS}", text.len());
            return Err(AgentError::InvalidArguments(reason));
        }
        schema.check(&value).map_err(AgentError::InvalidArguments).map(|()| text)
    };
    let mut text = fitting(&wanted.arguments)?;
    let lineage = chain.lineage.descend(&wanted.name, text.len() as u64)?;
    let short = |text: String| printable(&text[..text.floor_char_boundary(MAX_PURPOSE)]).into_owned();
    let plugin = wanted.plugin.map(short);
    let mut request = ToolRequest {
        from: Asker { plugin: plugin.clone(), ..from.clone() },
        name: wanted.name,
        arguments: wanted.arguments,
        purpose: wanted.purpose.map(short),
        read_only: found.tool.annotations.read_only == Some(true),
    };
    let mut edited = None;
    match open.voice.approve(&request).await {
        Verdict::Allow => {}
        Verdict::Edit(arguments) => {
            text = fitting(&arguments)?;
            edited = Some(Value::Object(arguments.clone()));
            request.arguments = arguments;
        }
        Verdict::Deny(reason) => return Err(AgentError::Declined(reason)),
    }
    let mut context = CallContext::new(chain.principal.clone());
    context.correlation_id = open.correlation.clone();
    let mut budget = open.offered.left();
    budget.deadline = clock.now() + offer.limits.deadline;
    budget.time = offer.limits.deadline;
    let agent: Arc<dyn ToolCaller> = match wanted.chain.filter(|chain| chain.len() <= 4_096) {
        Some(name) => Arc::new(Chained { inner: chain.agent.clone(), server: from.server.clone(), chain: name }),
        None => chain.agent.clone(),
    };
    let call = ReverseCall {
        name: request.name,
        arguments: text,
        purpose: request.purpose,
        plugin: PluginId { side: Side::Server, name: from.server.clone() },
        parent: from.task.clone(),
        context,
        sink: Arc::new(NoSink),
        agent,
        lineage,
        budget,
        cancel: over.child_token(),
        client: open.voice.as_client(from),
        questions: open.voice.questions(),
        pausable_deadline: chain.pausable_deadline.clone(),
        held: chain.held,
        timeout: None,
        answer: offer.limits.answer,
        lane: Lane::default(),
        trail: Trail::default(),
        span: None,
    };
    let (answer, spent) = call.make().await;
    open.offered.pay(spent);
    answer_value(answer, edited)
}

/// The answer as a `CallToolResult`. What a tool reports as its failure is a result too.
fn answer_value(answer: Result<AgentResult, AgentError>, edited: Option<Value>) -> Result<Value, AgentError> {
    let (content, structured, is_error, private) = match answer {
        Ok(AgentResult { content, structured, private, .. }) => (content, structured, false, private),
        Err(AgentError::ToolError(ToolResult { content, structured, .. })) => (content, structured, true, false),
        Err(error) => return Err(error),
    };
    let blocks: Vec<ContentBlock> = mcp::blocks(content);
    let mut result = json!({ "content": blocks, "isError": is_error });
    if let Some(structured) = structured.and_then(|text| serde_json::from_str::<Value>(&text).ok()) {
        result["structuredContent"] = structured;
    }
    let mut meta = Map::new();
    if private {
        meta.insert("dev.portcullis/private".into(), true.into());
    }
    if let Some(edited) = edited {
        meta.insert("dev.portcullis/edited".into(), edited);
    }
    if !meta.is_empty() {
        result["_meta"] = meta.into();
    }
    Ok(result)
}

/// An error as the extension has it.
fn worded(error: AgentError) -> (&'static str, String) {
    match error {
        AgentError::UnknownTool(name) => ("unknown-tool", format!("there is no tool `{name}` for this server")),
        AgentError::InvalidArguments(reason) => ("invalid-arguments", reason),
        AgentError::Declined(reason) => ("declined", reason),
        AgentError::Timeout(limit) => ("timeout", format!("it took longer than {limit} ms")),
        AgentError::Cancelled => ("cancelled", "the call that it belonged to is over".into()),
        AgentError::Exhausted(it) => {
            ("exhausted", format!("the limit of {} {} is reached", it.limit, it.budget.name()))
        }
        AgentError::NotSupported(reason) | AgentError::Cycle(reason) | AgentError::Failed(reason) => ("failed", reason),
        AgentError::Denied(denial) => {
            ("failed", format!("it needs {} {}, which it was not granted", denial.capability, denial.target))
        }
        AgentError::ToolError(_) => ("failed", "the tool reported a failure".into()),
    }
}

/// The same tools, for what runs on behalf of a server's call: what goes back to that very server names the chain.
struct Chained {
    inner: Arc<dyn ToolCaller>,
    server: String,
    chain: String,
}

#[async_trait]
impl ToolCaller for Chained {
    fn tools(&self) -> Vec<AgentTool> {
        self.inner.tools()
    }

    fn find(&self, name: &str) -> Result<policy::Origin, AgentError> {
        self.inner.find(name)
    }

    async fn call(&self, call: ReverseCall) -> (Result<AgentResult, AgentError>, Spent) {
        let back = call.name.strip_prefix(&self.server).is_some_and(|rest| rest.starts_with('.'));
        match back {
            true => {
                let chain = (self.server.clone(), self.chain.clone());
                super::CHAIN.scope(chain, self.inner.call(call)).await
            }
            false => self.inner.call(call).await,
        }
    }
}
