//! Requests for what is no tool: the content of a resource, a prompt, suggestions.

use runtime::imports::CompletionQuery;
use serde_json::{Value, json};

#[derive(Debug, Clone, PartialEq)]
pub enum ItemRequest {
    /// A resource that is listed, or that a template stands for.
    Resource { uri: String },
    /// The caller has checked the arguments.
    Prompt { name: String, arguments: Vec<(String, String)> },
    /// Who does not complete arguments is not asked.
    Completion(CompletionQuery),
}

impl ItemRequest {
    /// What records call it: the function of a plugin that answers it.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Resource { .. } => "read-resource",
            Self::Prompt { .. } => "get-prompt",
            Self::Completion(_) => "complete",
        }
    }

    /// The method of the protocol, for traces.
    pub(crate) fn method(&self) -> &'static str {
        match self {
            Self::Resource { .. } => "resources/read",
            Self::Prompt { .. } => "prompts/get",
            Self::Completion(_) => "completion/complete",
        }
    }

    /// As one value, the same for equal requests.
    pub(crate) fn arguments(&self) -> Value {
        match self {
            Self::Resource { uri } => json!(uri),
            Self::Prompt { arguments, .. } => json!(arguments),
            Self::Completion(query) => json!([query.argument, query.value]),
        }
    }
}
