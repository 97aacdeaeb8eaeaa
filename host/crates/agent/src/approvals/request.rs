//! Requests for the user's decision, and the decisions.

use crate::address::PageAddress;
use crate::reactions::TriggeredReaction;
use runtime::imports::{FormSchema, SampleAnswer, SampleRequest, Schema};
use serde_json::{Map, Value};
use upstream::{Requester, ReverseCallRequest};

/// A request for a decision. Its text comes from the server.
#[derive(Debug, Clone)]
pub enum ApprovalRequest {
    /// A server calls a tool of the agent.
    ReverseCall {
        request: ReverseCallRequest,
        /// The tool's input schema as JSON text. Edited arguments must match it.
        schema: Option<String>,
        /// Whether an approval counts for the whole task, by a rule.
        once_per_task: bool,
    },
    /// A form to fill in.
    Form { requester: Requester, message: String, schema: FormSchema },
    /// A page to open.
    Page { requester: Requester, message: String, address: PageAddress },
    /// A request to the model, before the model gets it.
    Prompt { requester: Requester, request: SampleRequest },
    /// A request to a model when there is no model: the user answers.
    PromptWithoutModel { requester: Requester, request: SampleRequest },
    /// The model's answer, before the server gets it.
    ModelAnswer { requester: Requester, answer: SampleAnswer },
    /// An event in a server's inbox, which would start a call that the user has configured.
    Reaction { server: String, triggered: TriggeredReaction },
}

#[derive(Debug, Clone, PartialEq)]
pub enum ApprovalDecision {
    Allow,
    /// Allow now and from now on.
    AllowAlways,
    /// Allow until the agent's call ends.
    AllowForTask,
    /// Allow with these arguments, or answer with these values.
    WithValues(Map<String, Value>),
    /// Allow with this text instead, or answer with this text.
    WithText(String),
    /// Refuse with this reason.
    Deny(String),
    /// Neither allow nor deny.
    Cancel,
}

/// A decision that does not fit the request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecisionError {
    #[error("nothing waits for an answer")]
    Nothing,
    #[error("nothing with the number {0} waits; see `waiting`")]
    Unknown(u64),
    #[error("{0}")]
    Unsuitable(&'static str),
    #[error("that does not match: {0}")]
    Mismatch(String),
}

impl ApprovalRequest {
    pub fn server(&self) -> &str {
        match self {
            ApprovalRequest::Reaction { server, .. } => server,
            _ => self.requester().map_or("", |requester| &requester.server),
        }
    }

    /// The requester, within a call of the agent. None for a request that belongs to no call.
    pub fn requester(&self) -> Option<&Requester> {
        match self {
            ApprovalRequest::ReverseCall { request, .. } => Some(&request.requester),
            ApprovalRequest::Reaction { .. } => None,
            ApprovalRequest::Form { requester, .. }
            | ApprovalRequest::Page { requester, .. }
            | ApprovalRequest::Prompt { requester, .. }
            | ApprovalRequest::PromptWithoutModel { requester, .. }
            | ApprovalRequest::ModelAnswer { requester, .. } => Some(requester),
        }
    }

    /// Checks that a decision fits the request.
    pub fn check(&self, decision: &ApprovalDecision) -> Result<(), DecisionError> {
        let unsuitable = |text| Err(DecisionError::Unsuitable(text));
        match (self, decision) {
            (_, ApprovalDecision::Deny(_) | ApprovalDecision::Cancel) => Ok(()),
            (
                ApprovalRequest::ReverseCall { .. },
                ApprovalDecision::Allow | ApprovalDecision::AllowAlways | ApprovalDecision::AllowForTask,
            ) => Ok(()),
            (ApprovalRequest::ReverseCall { schema, .. }, ApprovalDecision::WithValues(arguments)) => {
                check_arguments(schema.as_deref(), arguments)
            }
            (ApprovalRequest::ReverseCall { .. }, ApprovalDecision::WithText(_)) => {
                unsuitable("arguments are a JSON object: edit N {…}")
            }
            (ApprovalRequest::Form { schema, .. }, ApprovalDecision::Allow) if !schema.has_fields() => Ok(()),
            (ApprovalRequest::Form { schema, .. }, ApprovalDecision::WithValues(values)) => {
                schema.check(&Value::Object(values.clone())).map_err(DecisionError::Mismatch)
            }
            (ApprovalRequest::Form { schema, .. }, _) if !schema.has_fields() => unsuitable("approve N, or deny N"),
            (ApprovalRequest::Form { .. }, _) => unsuitable("it is a form: answer N, or answer N {…}"),
            (
                ApprovalRequest::Prompt { .. } | ApprovalRequest::ModelAnswer { .. },
                ApprovalDecision::Allow | ApprovalDecision::WithText(_),
            ) => Ok(()),
            (ApprovalRequest::Prompt { .. } | ApprovalRequest::ModelAnswer { .. }, _) => {
                unsuitable("approve N, edit N TEXT, or deny N")
            }
            (ApprovalRequest::PromptWithoutModel { .. }, ApprovalDecision::WithText(_)) => Ok(()),
            (ApprovalRequest::PromptWithoutModel { .. }, _) => {
                unsuitable("there is no model: answer N TEXT, or deny N")
            }
            (ApprovalRequest::Page { .. } | ApprovalRequest::Reaction { .. }, ApprovalDecision::Allow) => Ok(()),
            (ApprovalRequest::Page { .. } | ApprovalRequest::Reaction { .. }, _) => unsuitable("approve N, or deny N"),
        }
    }
}

fn check_arguments(schema: Option<&str>, arguments: &Map<String, Value>) -> Result<(), DecisionError> {
    // A schema that cannot be read here is that of another server's tool, and that server checks the arguments itself.
    let Some(schema) = schema.and_then(|schema| Schema::compile(schema).ok()) else { return Ok(()) };
    schema.check(&Value::Object(arguments.clone())).map_err(DecisionError::Mismatch)
}
