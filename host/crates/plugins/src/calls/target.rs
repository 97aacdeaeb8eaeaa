//! The target of a call: a function of a plugin or of an upstream server, with its arguments.

use crate::calls::answers::answer_check::AnswerCheck;
use crate::catalog::{ItemRequest, Plugin, UpstreamServer, UpstreamTool};
use crate::offer::PluginTool;
use policy::{Overflow, PluginId, Survive};
use runtime::abi::GuestCall;
use runtime::imports::{Arguments, Execution, Tool};
use serde_json::Value;
use std::borrow::Cow;
use std::sync::Arc;

/// Something to call, with its arguments.
pub enum CallTarget {
    Plugin(Arc<Plugin>, PluginCall),
    Upstream(Arc<UpstreamTool>, Arguments),
    /// A resource, a prompt or a completion of an upstream server.
    UpstreamItem(Arc<UpstreamServer>, ItemRequest),
}

/// A function of a plugin.
pub enum PluginCall {
    Tool(Arc<PluginTool>, Arguments),
    Item(ItemRequest),
}

impl CallTarget {
    /// The plugin, or the upstream server in the place of one.
    pub fn id(&self) -> &PluginId {
        match self {
            Self::Plugin(plugin, _) => plugin.id(),
            Self::Upstream(tool, _) => &tool.id,
            Self::UpstreamItem(server, _) => &server.id,
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
            Self::Plugin(..) | Self::UpstreamItem(..) => None,
        }
    }

    pub fn overflow(&self) -> Overflow {
        match self {
            Self::Plugin(plugin, _) => plugin.spec.limits.overflow,
            Self::Upstream(..) | Self::UpstreamItem(..) => Overflow::Block,
        }
    }

    /// What the steps of a task's call survive, if the operator or the plugin's manifest sets it.
    pub fn survive(&self) -> Option<Survive> {
        match self {
            Self::Plugin(plugin, _) => plugin.survive,
            Self::Upstream(..) | Self::UpstreamItem(..) => None,
        }
    }

    /// The version of what is called. For an upstream server, whose version is unknown, its name.
    pub fn version(&self) -> &str {
        match self {
            Self::Plugin(plugin, _) => plugin.digest.as_str(),
            Self::Upstream(..) | Self::UpstreamItem(..) => &self.id().name,
        }
    }

    pub fn reads_steering(&self) -> bool {
        match self {
            Self::Plugin(plugin, _) => plugin.reads_steering,
            Self::Upstream(..) | Self::UpstreamItem(..) => false,
        }
    }

    /// The arguments of a tool, as text.
    pub fn tool_arguments(&self) -> &str {
        match self {
            Self::Plugin(_, PluginCall::Tool(_, arguments)) | Self::Upstream(_, arguments) => arguments.text(),
            Self::Plugin(..) | Self::UpstreamItem(..) => "",
        }
    }

    /// The arguments as one value, which is the same for equal calls.
    pub fn arguments(&self) -> Cow<'_, Value> {
        match self {
            Self::Plugin(_, PluginCall::Tool(_, arguments)) | Self::Upstream(_, arguments) => {
                Cow::Borrowed(arguments.value())
            }
            Self::Plugin(_, PluginCall::Item(request)) | Self::UpstreamItem(_, request) => {
                Cow::Owned(request.arguments())
            }
        }
    }
}

impl PluginCall {
    /// Its name in records: that of the tool, or that of the function.
    pub(super) fn name(&self) -> Arc<str> {
        match self {
            Self::Tool(tool, _) => tool.name.clone(),
            Self::Item(request) => request.name().into(),
        }
    }

    /// Its name in a chain of calls.
    pub(super) fn full_name(&self, plugin: &PluginId) -> Arc<str> {
        match self {
            Self::Tool(tool, _) => tool.full_name.clone(),
            Self::Item(request) => plugin.full_name(request.name()).into(),
        }
    }

    /// Whether the tool declares that its calls may take long.
    pub(super) fn may_run_long(&self) -> bool {
        match self {
            Self::Tool(tool, _) => match tool.tool.execution {
                Execution::Inline => false,
                Execution::MayRunLong | Execution::TaskOnly => true,
            },
            Self::Item(_) => false,
        }
    }

    /// The method of the protocol, for traces.
    pub(super) fn method(&self) -> &'static str {
        match self {
            Self::Tool(..) => "execute_tool",
            Self::Item(request) => request.method(),
        }
    }

    /// The call as the guest sees it, and how its answer is checked.
    pub(super) fn into_parts(self) -> (GuestCall, AnswerCheck) {
        match self {
            Self::Tool(tool, arguments) => {
                let call = GuestCall::Tool { name: tool.name.clone(), arguments: arguments.into_text() };
                (call, AnswerCheck::Tool(tool))
            }
            Self::Item(ItemRequest::Resource { uri }) => {
                (GuestCall::Resource { uri: uri.clone() }, AnswerCheck::Resource { uri })
            }
            Self::Item(ItemRequest::Prompt { name, arguments }) => {
                (GuestCall::Prompt { name, arguments }, AnswerCheck::Prompt)
            }
            Self::Item(ItemRequest::Completion(query)) => (GuestCall::Completion(query), AnswerCheck::Completion),
        }
    }
}
