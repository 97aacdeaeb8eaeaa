//! Tools, calls and their outcomes, as in WIT `types`.

use super::Content;
use policy::Principal;
use serde::{Deserialize, Serialize};

/// What a tool says of its own behaviour; hints for the client.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolAnnotations {
    /// Changes nothing.
    pub read_only: Option<bool>,
    /// May destroy something.
    pub destructive: Option<bool>,
    /// Twice is as good as once.
    pub idempotent: Option<bool>,
    /// Talks to an open world.
    pub open_world: Option<bool>,
}

/// How long calls of a tool usually take; a hint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Execution {
    /// Short.
    Inline,
    /// Perhaps not.
    MayRunLong,
    /// Long enough to be a task wherever there are tasks.
    TaskOnly,
}

/// A picture of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Icon {
    /// `https:` or `data:`.
    pub src: String,
    /// Media type.
    pub mime_type: Option<String>,
    /// Such as `48x48`.
    pub sizes: Vec<String>,
}

/// A tool as its plugin describes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tool {
    /// Unique within the plugin; for an agent tool, `<agent plugin>.<tool>`.
    pub name: String,
    /// For people.
    pub title: Option<String>,
    /// For the model.
    pub description: String,
    /// JSON text.
    pub input_schema: String,
    /// JSON text.
    pub output_schema: Option<String>,
    /// Hints.
    pub annotations: ToolAnnotations,
    /// A hint.
    pub execution: Execution,
    /// Pictures.
    pub icons: Vec<Icon>,
}

/// What a call is told about itself.
#[derive(Debug, Clone)]
pub struct CallContext {
    /// Unique; random.
    pub id: String,
    /// On whose behalf.
    pub principal: Principal,
    /// The call that it is nested in; not told to the guest.
    pub parent: Option<String>,
    /// Chosen by the client.
    pub correlation_id: Option<String>,
    /// Equal for repetitions of one intended call.
    pub idempotency_key: Option<String>,
    /// W3C trace context.
    pub traceparent: Option<String>,
}

impl CallContext {
    /// For a call of this principal, with a new random id.
    pub fn new(principal: impl Into<Principal>) -> Self {
        let mut bytes = [0u8; 16];
        // Without randomness ids would repeat; the zero id is as good as any then, since nothing trusts an id to be secret.
        let _ = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
        let id = format!("{:032x}", u128::from_le_bytes(bytes));
        let principal = principal.into();
        Self { id, principal, parent: None, correlation_id: None, idempotency_key: None, traceparent: None }
    }

    /// The same for a call made on behalf of this one.
    pub fn nested(&self) -> Self {
        Self { id: Self::new("").id, parent: Some(self.id.clone()), ..self.clone() }
    }
}

/// What a tool answered.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolResult {
    /// For model and user.
    pub content: Vec<Content>,
    /// JSON text.
    pub structured: Option<String>,
    /// A failure of the tool's own.
    pub is_error: bool,
}

/// Which ceiling was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the limits")]
pub enum Budgeted {
    Fuel,
    Cpu,
    Deadline,
    Memory,
    Output,
    Chunks,
    Calls,
    Depth,
    Arguments,
    Results,
    Waiting,
    Questions,
    Tokens,
    Stored,
}

impl Budgeted {
    /// The limit's name in words.
    pub fn name(self) -> &'static str {
        match self {
            Budgeted::Fuel => "fuel",
            Budgeted::Cpu => "CPU time",
            Budgeted::Deadline => "time",
            Budgeted::Memory => "memory",
            Budgeted::Output => "output bytes",
            Budgeted::Chunks => "chunks",
            Budgeted::Calls => "calls",
            Budgeted::Depth => "call depth",
            Budgeted::Arguments => "argument bytes",
            Budgeted::Results => "bytes of reverse calls' results",
            Budgeted::Waiting => "time of waiting for the agent's tools",
            Budgeted::Questions => "questions",
            Budgeted::Tokens => "model tokens",
            Budgeted::Stored => "room for what it stores",
        }
    }
}

/// A ceiling that was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exhaustion {
    /// Which.
    pub budget: Budgeted,
    /// Its value.
    pub limit: u64,
}

/// A denial as it crosses the guest boundary.
#[derive(Debug, Clone, PartialEq)]
pub struct GuestDenial {
    /// Key of the grant.
    pub capability: String,
    /// What was to be used.
    pub target: String,
    /// How to allow it.
    pub remedy: String,
}

/// A failure the tool itself reports.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolError {
    /// Arguments make no sense.
    InvalidArguments(String),
    /// Could not do it.
    Failed(String),
    /// Stopped because it was asked to.
    Cancelled,
    /// Was refused something.
    Denied(GuestDenial),
    /// Ran into a ceiling.
    Exhausted(Exhaustion),
    /// Needs something that is not there.
    Unsupported(String),
}
