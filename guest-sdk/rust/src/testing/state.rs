//! The fake host's state, one per thread, and its answers to what a tool asks.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::rc::Rc;

use serde_json::Value;

use crate::agent_tools::{AgentError, AgentResult, CallOptions, Origin};
use crate::log::Level;
use crate::output::OutputError;
use crate::{Budget, Content, ContentData, Denial, Execution, Exhaustion, Tool, ToolAnnotations, ToolResult};

use super::client::Client;
use super::connections::Accounts;
use super::http::Servers;
use super::published::Shelf;
use super::values::Values;

/// One report of progress.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// How much is done.
    pub done: f64,
    /// Of how much.
    pub total: Option<f64>,
    /// What is going on.
    pub message: Option<String>,
}

/// One log record.
#[derive(Clone, Debug, PartialEq)]
pub struct LogRecord {
    /// Its severity.
    pub level: Level,
    /// Its text.
    pub message: String,
}

/// One call of an agent tool, whether it succeeded or not.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentCall {
    /// `<agent plugin>.<tool>`
    pub name: String,
    /// What the tool was given.
    pub arguments: Value,
    /// Timeout and purpose.
    pub options: CallOptions,
}

pub(super) type AgentTool = Rc<RefCell<dyn FnMut(Value) -> Result<ToolResult, AgentError>>>;

pub(super) struct State {
    pub(super) chunks: Vec<Vec<Content>>,
    pub(super) progress: Vec<Progress>,
    pub(super) log: Vec<LogRecord>,
    pub(super) agent_calls: Vec<AgentCall>,
    pub(super) agent_tools: BTreeMap<String, AgentTool>,
    pub(super) folders: Vec<PathBuf>,
    pub(super) client: Client,
    pub(super) connections: Accounts,
    pub(super) http: Servers,
    pub(super) shelf: Shelf,
    pub(super) values: Values,
    /// Names of grants.
    pub(super) denied: Vec<String>,
    pub(super) fuel: Option<u64>,
    pub(super) deadline_ms: u64,
    pub(super) chunk_limit: u64,
    pub(super) closed: bool,
    pub(super) steering: VecDeque<String>,
}

impl Default for State {
    fn default() -> Self {
        Self {
            chunks: Vec::new(),
            progress: Vec::new(),
            log: Vec::new(),
            agent_calls: Vec::new(),
            agent_tools: BTreeMap::new(),
            folders: Vec::new(),
            client: Client::default(),
            connections: Accounts::default(),
            http: Servers::default(),
            shelf: Shelf::default(),
            values: Values::default(),
            denied: Vec::new(),
            fuel: Some(1_000_000_000),
            deadline_ms: 30_000,
            chunk_limit: 10_000,
            closed: false,
            steering: VecDeque::new(),
        }
    }
}

thread_local! {
    static STATE: RefCell<State> = RefCell::default();
}

pub(super) fn with<T>(act: impl FnOnce(&mut State) -> T) -> T {
    STATE.with_borrow_mut(act)
}

/// Whether a test refuses this use.
pub(super) fn denial(state: &State, capability: &str, target: &str) -> Option<Denial> {
    state.denied.iter().any(|denied| denied == capability).then(|| refusal(capability, target))
}

/// A refusal as the host words it.
pub(super) fn refusal(capability: &str, target: &str) -> Denial {
    let line = match capability {
        "agent-tools" | "connections" | "events" => format!("{capability} = [\"{target}\"]"),
        "state" => "state = {}".to_owned(),
        _ => format!("{capability} = true"),
    };
    let remedy = format!("To allow it: portcullis grant <plugin> '{line}'");
    Denial { capability: capability.to_owned(), target: target.to_owned(), remedy }
}

pub(crate) fn emit(content: Vec<Content>) -> Result<u64, OutputError> {
    with(|state| {
        let seq = state.chunks.len() as u64;
        let priority = |content: &Content| content.annotations.as_ref().and_then(|annotations| annotations.priority);
        if state.closed {
            Err(OutputError::Closed)
        } else if seq >= state.chunk_limit {
            Err(OutputError::Exhausted(Exhaustion { budget: Budget::Chunks, limit: state.chunk_limit }))
        } else if content.iter().filter_map(priority).any(|priority| !(0.0..=1.0).contains(&priority)) {
            Err(OutputError::Invalid("priority is outside 0.0 to 1.0".into()))
        } else {
            state.chunks.push(content);
            Ok(seq)
        }
    })
}

pub(crate) fn progress(done: f64, total: Option<f64>, message: Option<String>) {
    with(|state| {
        let grows = state.progress.last().is_none_or(|last| done > last.done);
        if done.is_finite() && grows {
            state.progress.push(Progress { done, total, message });
        }
    });
}

pub(crate) fn log(level: Level, message: String) {
    with(|state| state.log.push(LogRecord { level, message }));
}

pub(crate) fn fuel_left() -> Option<u64> {
    with(|state| state.fuel)
}

pub(crate) fn deadline_left() -> u64 {
    with(|state| state.deadline_ms)
}

pub(crate) fn folders() -> Vec<PathBuf> {
    with(|state| state.folders.clone())
}

pub(crate) fn list_agent_tools() -> Vec<Tool> {
    with(|state| state.agent_tools.keys().map(|name| anything(name)).collect())
}

pub(crate) fn call_agent_tool(name: &str, arguments: &str, options: &CallOptions) -> Result<AgentResult, AgentError> {
    let arguments: Value =
        serde_json::from_str(arguments).map_err(|error| AgentError::InvalidArguments(error.to_string()))?;
    if !arguments.is_object() {
        return Err(AgentError::InvalidArguments("arguments are a JSON object".into()));
    }
    // The borrow ends before the tool runs, since it may use the fake host itself.
    let tool = with(|state| {
        let call = AgentCall { name: name.to_owned(), arguments: arguments.clone(), options: options.clone() };
        state.agent_calls.push(call);
        state.agent_tools.get(name).cloned()
    });
    let tool = tool.ok_or_else(|| AgentError::UnknownTool(name.to_owned()))?;
    let Ok(mut tool) = tool.try_borrow_mut() else { return Err(AgentError::Cycle(name.to_owned())) };
    match tool(arguments) {
        Ok(result) if result.is_error => Err(AgentError::ToolError(Box::new(result))),
        Ok(ToolResult { content, structured, .. }) => {
            let component = name.split('.').next().unwrap_or_default().to_owned();
            Ok(AgentResult { content, structured, origin: Origin::Component(component), private: false, edited: None })
        }
        Err(error) => Err(error),
    }
}

pub(crate) fn call_agent_tools(calls: &[(String, String, CallOptions)]) -> Vec<Result<AgentResult, AgentError>> {
    calls.iter().map(|(name, arguments, options)| call_agent_tool(name, arguments, options)).collect()
}

pub(crate) fn steered() -> Option<String> {
    with(|state| state.steering.pop_front())
}

/// A closure has no schema, so the fake tool takes any object.
fn anything(name: &str) -> Tool {
    Tool {
        name: name.to_owned(),
        title: None,
        description: "A fake agent tool.".into(),
        input_schema: r#"{"type":"object"}"#.into(),
        output_schema: None,
        annotations: ToolAnnotations { read_only: None, destructive: None, idempotent: None, open_world: None },
        execution: Execution::Inline,
        icons: Vec::new(),
    }
}

/// What a closure answered, as a tool's result.
pub(super) fn answer(value: &Value) -> ToolResult {
    let text = value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
    ToolResult {
        content: vec![ContentData::Text(text).into()],
        structured: value.is_object().then(|| value.to_string()),
        is_error: false,
    }
}
