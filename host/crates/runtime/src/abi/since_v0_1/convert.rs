//! Between generated types and the host's own; values are moved, never copied.

use super::bindings::portcullis::plugin::{agent_tools as wa, log as wl, output as wo, types as w};
use crate::imports as h;
use std::time::Duration;

pub(super) fn tool_from_guest(tool: w::Tool) -> h::Tool {
    let w::ToolAnnotations { read_only, destructive, idempotent, open_world } = tool.annotations;
    h::Tool {
        name: tool.name,
        title: tool.title,
        description: tool.description,
        input_schema: tool.input_schema,
        output_schema: tool.output_schema,
        annotations: h::ToolAnnotations { read_only, destructive, idempotent, open_world },
        execution: match tool.execution {
            w::Execution::Inline => h::Execution::Inline,
            w::Execution::MayRunLong => h::Execution::MayRunLong,
            w::Execution::TaskOnly => h::Execution::TaskOnly,
        },
        icons: tool.icons.into_iter().map(icon_from_guest).collect(),
    }
}

pub(super) fn tool_to_guest(tool: h::Tool) -> w::Tool {
    let h::ToolAnnotations { read_only, destructive, idempotent, open_world } = tool.annotations;
    w::Tool {
        name: tool.name,
        title: tool.title,
        description: tool.description,
        input_schema: tool.input_schema,
        output_schema: tool.output_schema,
        annotations: w::ToolAnnotations { read_only, destructive, idempotent, open_world },
        execution: match tool.execution {
            h::Execution::Inline => w::Execution::Inline,
            h::Execution::MayRunLong => w::Execution::MayRunLong,
            h::Execution::TaskOnly => w::Execution::TaskOnly,
        },
        icons: tool.icons.into_iter().map(|i| w::Icon { src: i.src, mime_type: i.mime_type, sizes: i.sizes }).collect(),
    }
}

pub(super) fn context_to_guest(context: &h::CallContext, deadline: Duration) -> w::CallContext {
    w::CallContext {
        id: context.id.clone(),
        principal: context.principal.as_str().to_owned(),
        correlation_id: context.correlation_id.clone(),
        idempotency_key: context.idempotency_key.clone(),
        deadline_ms: u64::try_from(deadline.as_millis()).unwrap_or(u64::MAX),
        traceparent: context.traceparent.clone(),
        replaying: false,
    }
}

pub(super) fn content_from_guest(content: w::Content) -> h::Content {
    let blob = |b: w::Blob| h::Blob { mime_type: b.mime_type, data: b.data };
    let data = match content.data {
        w::ContentData::Text(text) => h::ContentData::Text(text),
        w::ContentData::Image(b) => h::ContentData::Image(blob(b)),
        w::ContentData::Audio(b) => h::ContentData::Audio(blob(b)),
        w::ContentData::ResourceLink(w::ResourceLink { uri, name, title, description, mime_type, size }) => {
            h::ContentData::ResourceLink(h::ResourceLink { uri, name, title, description, mime_type, size })
        }
        w::ContentData::Resource(resource) => h::ContentData::Resource(embedded_from_guest(resource)),
    };
    h::Content { data, annotations: content.annotations.map(annotations_from_guest) }
}

pub(super) fn embedded_from_guest(resource: w::EmbeddedResource) -> h::EmbeddedResource {
    let body = match resource.body {
        w::ResourceBody::Text(text) => h::ResourceBody::Text(text),
        w::ResourceBody::Blob(bytes) => h::ResourceBody::Blob(bytes),
    };
    h::EmbeddedResource { uri: resource.uri, mime_type: resource.mime_type, body }
}

pub(super) fn annotations_from_guest(annotations: w::ContentAnnotations) -> h::Annotations {
    h::Annotations {
        audience: roles_from_guest(&annotations.audience),
        priority: annotations.priority,
        last_modified: annotations.last_modified,
    }
}

pub(super) fn icon_from_guest(icon: w::Icon) -> h::Icon {
    h::Icon { src: icon.src, mime_type: icon.mime_type, sizes: icon.sizes }
}

/// Each role once: a list of a million of them says no more, and would cost more than any limit counts.
pub(super) fn roles_from_guest(named: &[w::Role]) -> Vec<h::Role> {
    [w::Role::User, w::Role::Assistant].into_iter().filter(|role| named.contains(role)).map(role_from_guest).collect()
}

pub(super) fn role_from_guest(role: w::Role) -> h::Role {
    match role {
        w::Role::User => h::Role::User,
        w::Role::Assistant => h::Role::Assistant,
    }
}

pub(super) fn role_to_guest(role: h::Role) -> w::Role {
    match role {
        h::Role::User => w::Role::User,
        h::Role::Assistant => w::Role::Assistant,
    }
}

pub(super) fn denial_to_guest(denial: h::GuestDenial) -> w::Denial {
    let h::GuestDenial { capability, target, remedy } = denial;
    w::Denial { capability, target, remedy }
}

pub(super) fn content_to_guest(content: h::Content) -> w::Content {
    let blob = |b: h::Blob| w::Blob { mime_type: b.mime_type, data: b.data };
    let data = match content.data {
        h::ContentData::Text(text) => w::ContentData::Text(text),
        h::ContentData::Image(b) => w::ContentData::Image(blob(b)),
        h::ContentData::Audio(b) => w::ContentData::Audio(blob(b)),
        h::ContentData::ResourceLink(h::ResourceLink { uri, name, title, description, mime_type, size }) => {
            w::ContentData::ResourceLink(w::ResourceLink { uri, name, title, description, mime_type, size })
        }
        h::ContentData::Resource(h::EmbeddedResource { uri, mime_type, body }) => {
            let body = match body {
                h::ResourceBody::Text(text) => w::ResourceBody::Text(text),
                h::ResourceBody::Blob(bytes) => w::ResourceBody::Blob(bytes),
            };
            w::ContentData::Resource(w::EmbeddedResource { uri, mime_type, body })
        }
    };
    let annotations = content.annotations.map(|a| w::ContentAnnotations {
        audience: a.audience.into_iter().map(role_to_guest).collect(),
        priority: a.priority,
        last_modified: a.last_modified,
    });
    w::Content { data, annotations }
}

pub(super) fn result_from_guest(result: w::ToolResult) -> h::ToolResult {
    h::ToolResult {
        content: result.content.into_iter().map(content_from_guest).collect(),
        structured: result.structured,
        is_error: result.is_error,
    }
}

pub(super) fn result_to_guest(result: h::ToolResult) -> w::ToolResult {
    w::ToolResult {
        content: result.content.into_iter().map(content_to_guest).collect(),
        structured: result.structured,
        is_error: result.is_error,
    }
}

pub(super) fn error_from_guest(error: w::ToolError) -> h::ToolError {
    match error {
        w::ToolError::InvalidArguments(reason) => h::ToolError::InvalidArguments(reason),
        w::ToolError::Failed(reason) => h::ToolError::Failed(reason),
        w::ToolError::Cancelled => h::ToolError::Cancelled,
        w::ToolError::Denied(w::Denial { capability, target, remedy }) => {
            h::ToolError::Denied(h::GuestDenial { capability, target, remedy })
        }
        w::ToolError::Exhausted(w::Exhaustion { budget, limit }) => {
            let budget = match budget {
                w::Budget::Fuel => h::Budgeted::Fuel,
                w::Budget::Cpu => h::Budgeted::Cpu,
                w::Budget::Deadline => h::Budgeted::Deadline,
                w::Budget::Memory => h::Budgeted::Memory,
                w::Budget::Output => h::Budgeted::Output,
                w::Budget::Chunks => h::Budgeted::Chunks,
                w::Budget::Calls => h::Budgeted::Calls,
                w::Budget::Depth => h::Budgeted::Depth,
                w::Budget::Arguments => h::Budgeted::Arguments,
                w::Budget::Results => h::Budgeted::Results,
                w::Budget::Waiting => h::Budgeted::Waiting,
                w::Budget::Questions => h::Budgeted::Questions,
                w::Budget::Tokens => h::Budgeted::Tokens,
                w::Budget::Stored => h::Budgeted::Stored,
            };
            h::ToolError::Exhausted(h::Exhaustion { budget, limit })
        }
        w::ToolError::Unsupported(what) => h::ToolError::Unsupported(what),
    }
}

pub(super) fn exhaustion_to_guest(exhaustion: h::Exhaustion) -> w::Exhaustion {
    let budget = match exhaustion.budget {
        h::Budgeted::Fuel => w::Budget::Fuel,
        h::Budgeted::Cpu => w::Budget::Cpu,
        h::Budgeted::Deadline => w::Budget::Deadline,
        h::Budgeted::Memory => w::Budget::Memory,
        h::Budgeted::Output => w::Budget::Output,
        h::Budgeted::Chunks => w::Budget::Chunks,
        h::Budgeted::Calls => w::Budget::Calls,
        h::Budgeted::Depth => w::Budget::Depth,
        h::Budgeted::Arguments => w::Budget::Arguments,
        h::Budgeted::Results => w::Budget::Results,
        h::Budgeted::Waiting => w::Budget::Waiting,
        h::Budgeted::Questions => w::Budget::Questions,
        h::Budgeted::Tokens => w::Budget::Tokens,
        h::Budgeted::Stored => w::Budget::Stored,
    };
    w::Exhaustion { budget, limit: exhaustion.limit }
}

pub(super) fn output_error_to_guest(error: h::OutputError) -> wo::OutputError {
    match error {
        h::OutputError::Closed => wo::OutputError::Closed,
        h::OutputError::Exhausted(exhaustion) => wo::OutputError::Exhausted(exhaustion_to_guest(exhaustion)),
        h::OutputError::Invalid(reason) => wo::OutputError::Invalid(reason),
    }
}

pub(super) fn agent_error_to_guest(error: h::AgentError) -> wa::AgentError {
    match error {
        h::AgentError::UnknownTool(name) => wa::AgentError::UnknownTool(name),
        h::AgentError::NotSupported(who) => wa::AgentError::NotSupported(who),
        h::AgentError::Declined(why) => wa::AgentError::Declined(why),
        h::AgentError::Denied(denial) => wa::AgentError::Denied(denial_to_guest(denial)),
        h::AgentError::Cycle(path) => wa::AgentError::Cycle(path),
        h::AgentError::Timeout(ms) => wa::AgentError::Timeout(ms),
        h::AgentError::Exhausted(exhaustion) => wa::AgentError::Exhausted(exhaustion_to_guest(exhaustion)),
        h::AgentError::Cancelled => wa::AgentError::Cancelled,
        h::AgentError::InvalidArguments(reason) => wa::AgentError::InvalidArguments(reason),
        h::AgentError::ToolError(result) => wa::AgentError::ToolError(result_to_guest(result)),
        h::AgentError::Failed(reason) => wa::AgentError::Failed(reason),
    }
}

pub(super) fn agent_result_to_guest(result: h::AgentResult) -> wa::AgentResult {
    let origin = match result.origin {
        h::Origin::Client => wa::Origin::Client,
        h::Origin::Component(name) => wa::Origin::Component(name),
        h::Origin::Upstream(name) => wa::Origin::Upstream(name),
        h::Origin::Model => wa::Origin::Model,
        h::Origin::User => wa::Origin::User,
    };
    wa::AgentResult {
        content: result.content.into_iter().map(content_to_guest).collect(),
        structured: result.structured,
        origin,
        private: result.private,
        edited: result.edited,
    }
}

pub(super) fn level_from_guest(level: wl::Level) -> h::Level {
    match level {
        wl::Level::Debug => h::Level::Debug,
        wl::Level::Info => h::Level::Info,
        wl::Level::Notice => h::Level::Notice,
        wl::Level::Warning => h::Level::Warning,
        wl::Level::Error => h::Level::Error,
        wl::Level::Critical => h::Level::Critical,
        wl::Level::Alert => h::Level::Alert,
        wl::Level::Emergency => h::Level::Emergency,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_comes_out_as_it_went_in() {
        for execution in [w::Execution::Inline, w::Execution::MayRunLong, w::Execution::TaskOnly] {
            let tool = w::Tool {
                name: "add".into(),
                title: Some("Add".into()),
                description: "Adds.".into(),
                input_schema: "{}".into(),
                output_schema: None,
                annotations: w::ToolAnnotations {
                    read_only: Some(false),
                    destructive: None,
                    idempotent: Some(true),
                    open_world: None,
                },
                execution,
                icons: vec![w::Icon { src: "data:,".into(), mime_type: None, sizes: vec!["any".into()] }],
            };
            let before = format!("{tool:?}");
            assert_eq!(format!("{:?}", tool_to_guest(tool_from_guest(tool))), before);
        }
    }
}
