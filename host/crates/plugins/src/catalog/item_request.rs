//! Requests for anything but a tool: the content of a resource, a prompt, suggestions.

use runtime::imports::CompletionQuery;
use serde_json::{Value, json};

#[derive(Debug, Clone, PartialEq)]
pub enum ItemRequest {
    /// A resource that is listed, or that a template stands for.
    Resource { uri: String },
    /// The caller has checked the arguments.
    Prompt { name: String, arguments: Vec<(String, String)> },
    /// Sent only to a plugin or server that completes arguments.
    Completion(CompletionQuery),
}

impl ItemRequest {
    /// Its name in records: the function of a plugin that answers it.
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

    /// The arguments as one value, which is the same for equal requests.
    pub(crate) fn arguments(&self) -> Value {
        match self {
            Self::Resource { uri } => json!(uri),
            Self::Prompt { arguments, .. } => json!(arguments),
            Self::Completion(query) => json!([query.argument, query.value]),
        }
    }
}
