//! What a call calls.

use super::answer_check::AnswerCheck;
use crate::catalog::{Plugin, UpstreamTool};
use crate::offer::PluginTool;
use policy::{Overflow, PluginId, Survive};
use runtime::abi::GuestCall;
use runtime::imports::{Arguments, CompletionQuery, Tool};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::sync::Arc;

/// Something to call, with its arguments.
pub enum CallTarget {
    Plugin(Arc<Plugin>, PluginCall),
    Upstream(Arc<UpstreamTool>, Arguments),
}

/// A function of a plugin.
pub enum PluginCall {
    Tool(Arc<PluginTool>, Arguments),
    /// A resource that the plugin lists or has a template for.
    Resource {
        uri: String,
    },
    /// The caller has checked the arguments.
    Prompt {
        name: String,
        arguments: Vec<(String, String)>,
    },
    /// A plugin that does not complete arguments is not started.
    Completion(CompletionQuery),
}

impl CallTarget {
    /// The plugin, or the upstream server in the place of one.
    pub fn id(&self) -> &PluginId {
        match self {
            Self::Plugin(plugin, _) => plugin.id(),
            Self::Upstream(tool, _) => &tool.id,
        }
    }

    pub fn is_tool(&self) -> bool {
        self.tool().is_some()
    }

    /// The tool as its plugin describes it; none if it is no tool.
    pub fn tool(&self) -> Option<&Tool> {
        match self {
            Self::Plugin(_, PluginCall::Tool(tool, _)) => Some(&tool.tool),
            Self::Upstream(tool, _) => Some(&tool.tool.tool),
            Self::Plugin(..) => None,
        }
    }

    pub fn overflow(&self) -> Overflow {
        match self {
            Self::Plugin(plugin, _) => plugin.spec.limits.overflow,
            Self::Upstream(..) => Overflow::Block,
        }
    }

    /// What the steps of a task's call survive, if that is said of its plugin.
    pub fn survive(&self) -> Option<Survive> {
        match self {
            Self::Plugin(plugin, _) => plugin.survive,
            Self::Upstream(..) => None,
        }
    }

    /// The version of what is called. That of an upstream server is unknown.
    pub fn version(&self) -> &str {
        match self {
            Self::Plugin(plugin, _) => plugin.digest.as_str(),
            Self::Upstream(tool, _) => &tool.id.name,
        }
    }

    pub fn reads_steering(&self) -> bool {
        match self {
            Self::Plugin(plugin, _) => plugin.reads_steering,
            Self::Upstream(..) => false,
        }
    }

    /// The arguments of a tool, as text.
    pub fn tool_arguments(&self) -> &str {
        match self {
            Self::Plugin(_, PluginCall::Tool(_, arguments)) | Self::Upstream(_, arguments) => arguments.text(),
            Self::Plugin(..) => "",
        }
    }

    /// The arguments as one value, the same for equal calls.
    pub fn arguments(&self) -> Cow<'_, Value> {
        match self {
            Self::Plugin(_, PluginCall::Tool(_, arguments)) | Self::Upstream(_, arguments) => {
                Cow::Borrowed(arguments.value())
            }
            Self::Plugin(_, PluginCall::Resource { uri }) => Cow::Owned(json!(uri)),
            Self::Plugin(_, PluginCall::Prompt { arguments, .. }) => Cow::Owned(json!(arguments)),
            Self::Plugin(_, PluginCall::Completion(query)) => Cow::Owned(json!([query.argument, query.value])),
        }
    }
}

impl PluginCall {
    /// What records call it: the name of a tool, or that of the function.
    pub(super) fn name(&self) -> Arc<str> {
        match self {
            Self::Tool(tool, _) => tool.name.clone(),
            Self::Resource { .. } => "read-resource".into(),
            Self::Prompt { .. } => "get-prompt".into(),
            Self::Completion(_) => "complete".into(),
        }
    }

    /// What its chain of calls calls it.
    pub(super) fn full_name(&self, plugin: &PluginId) -> Arc<str> {
        match self {
            Self::Tool(tool, _) => tool.full_name.clone(),
            Self::Resource { .. } | Self::Prompt { .. } | Self::Completion(_) => plugin.full_name(&self.name()).into(),
        }
    }

    /// The method of the protocol, for traces.
    pub(super) fn method(&self) -> &'static str {
        match self {
            Self::Tool(..) => "execute_tool",
            Self::Resource { .. } => "resources/read",
            Self::Prompt { .. } => "prompts/get",
            Self::Completion(_) => "completion/complete",
        }
    }

    /// The call as the guest sees it, and how its answer is checked.
    pub(super) fn into_parts(self) -> (GuestCall, AnswerCheck) {
        match self {
            Self::Tool(tool, arguments) => {
                let call = GuestCall::Tool { name: tool.name.clone(), arguments: arguments.into_text() };
                (call, AnswerCheck::Tool(tool))
            }
            Self::Resource { uri } => (GuestCall::Resource { uri: uri.clone() }, AnswerCheck::Resource { uri }),
            Self::Prompt { name, arguments } => (GuestCall::Prompt { name, arguments }, AnswerCheck::Prompt),
            Self::Completion(query) => (GuestCall::Completion(query), AnswerCheck::Completion),
        }
    }
}
