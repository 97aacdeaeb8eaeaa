//! Conversions of the interface `types`, which the other interfaces share. Values are moved, not copied.

use super::bindings::portcullis::plugin::types as w;
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
        icons: tool.icons.into_iter().map(icon_to_guest).collect(),
    }
}

pub(in super::super) fn context_to_guest(context: &h::CallContext, deadline: Duration) -> w::CallContext {
    w::CallContext {
        id: context.id.to_string(),
        principal: context.principal.as_str().to_owned(),
        correlation_id: context.correlation_id.clone(),
        idempotency_key: context.idempotency_key.clone(),
        // A guest that knew that it is replayed could ask for something else, and diverge from what is recorded.
        replaying: false,
        deadline_ms: u64::try_from(deadline.as_millis()).unwrap_or(u64::MAX),
        traceparent: context.traceparent.clone(),
    }
}

pub(super) fn content_from_guest(content: w::Content) -> h::Content {
    let data = match content.data {
        w::ContentData::Text(text) => h::ContentData::Text(text),
        w::ContentData::Image(blob) => h::ContentData::Image(blob_from_guest(blob)),
        w::ContentData::Audio(blob) => h::ContentData::Audio(blob_from_guest(blob)),
        w::ContentData::ResourceLink(w::ResourceLink { uri, name, title, description, mime_type, size }) => {
            h::ContentData::ResourceLink(h::ResourceLink { uri, name, title, description, mime_type, size })
        }
        w::ContentData::Resource(resource) => h::ContentData::Resource(embedded_resource_from_guest(resource)),
    };
    h::Content { annotations: content.annotations.map(annotations_from_guest), ..h::Content::plain(data) }
}

pub(super) fn embedded_resource_from_guest(resource: w::EmbeddedResource) -> h::EmbeddedResource {
    let w::EmbeddedResource { uri, mime_type, body } = resource;
    h::EmbeddedResource { uri, mime_type, body: resource_body_from_guest(body), meta: None }
}

pub(super) fn resource_body_from_guest(body: w::ResourceBody) -> h::ResourceBody {
    match body {
        w::ResourceBody::Text(text) => h::ResourceBody::Text(text),
        w::ResourceBody::Blob(bytes) => h::ResourceBody::Blob(bytes),
    }
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

fn icon_to_guest(icon: h::Icon) -> w::Icon {
    w::Icon { src: icon.src, mime_type: icon.mime_type, sizes: icon.sizes }
}

/// Keeps each role once, because a list of a million roles would take memory that no limit counts.
pub(super) fn roles_from_guest(roles: &[w::Role]) -> Vec<h::Role> {
    [w::Role::User, w::Role::Assistant].into_iter().filter(|role| roles.contains(role)).map(role_from_guest).collect()
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

pub(super) fn blob_from_guest(blob: w::Blob) -> h::Blob {
    h::Blob { mime_type: blob.mime_type, data: blob.data }
}

pub(super) fn blob_to_guest(blob: h::Blob) -> w::Blob {
    w::Blob { mime_type: blob.mime_type, data: blob.data }
}

pub(super) fn denial_to_guest(denial: h::GuestDenial) -> w::Denial {
    let h::GuestDenial { capability, target, remedy } = denial;
    w::Denial { capability, target, remedy }
}

pub(super) fn content_to_guest(content: h::Content) -> w::Content {
    let data = match content.data {
        h::ContentData::Text(text) => w::ContentData::Text(text),
        h::ContentData::Image(blob) => w::ContentData::Image(blob_to_guest(blob)),
        h::ContentData::Audio(blob) => w::ContentData::Audio(blob_to_guest(blob)),
        h::ContentData::ResourceLink(h::ResourceLink { uri, name, title, description, mime_type, size }) => {
            w::ContentData::ResourceLink(w::ResourceLink { uri, name, title, description, mime_type, size })
        }
        h::ContentData::Resource(h::EmbeddedResource { uri, mime_type, body, meta: _ }) => {
            let body = match body {
                h::ResourceBody::Text(text) => w::ResourceBody::Text(text),
                h::ResourceBody::Blob(bytes) => w::ResourceBody::Blob(bytes),
            };
            w::ContentData::Resource(w::EmbeddedResource { uri, mime_type, body })
        }
    };
    let annotations = content.annotations.map(|annotations| w::ContentAnnotations {
        audience: annotations.audience.into_iter().map(role_to_guest).collect(),
        priority: annotations.priority,
        last_modified: annotations.last_modified,
    });
    w::Content { data, annotations }
}

pub(super) fn tool_result_from_guest(result: w::ToolResult) -> h::ToolResult {
    h::ToolResult {
        content: result.content.into_iter().map(content_from_guest).collect(),
        structured: result.structured,
        is_error: result.is_error,
    }
}

pub(super) fn tool_result_to_guest(result: h::ToolResult) -> w::ToolResult {
    w::ToolResult {
        content: result.content.into_iter().map(content_to_guest).collect(),
        structured: result.structured,
        is_error: result.is_error,
    }
}

pub(super) fn tool_error_from_guest(error: w::ToolError) -> h::ToolError {
    match error {
        w::ToolError::InvalidArguments(reason) => h::ToolError::InvalidArguments(reason),
        w::ToolError::Failed(reason) => h::ToolError::Failed(reason),
        w::ToolError::Cancelled => h::ToolError::Cancelled,
        w::ToolError::Denied(w::Denial { capability, target, remedy }) => {
            h::ToolError::Denied(h::GuestDenial { capability, target, remedy })
        }
        w::ToolError::Exhausted(w::Exhaustion { budget, limit }) => {
            let budget = match budget {
                w::Budget::Fuel => h::BudgetKind::Fuel,
                w::Budget::Cpu => h::BudgetKind::Cpu,
                w::Budget::Deadline => h::BudgetKind::Deadline,
                w::Budget::Memory => h::BudgetKind::Memory,
                w::Budget::Output => h::BudgetKind::Output,
                w::Budget::Chunks => h::BudgetKind::Chunks,
                w::Budget::Calls => h::BudgetKind::Calls,
                w::Budget::Depth => h::BudgetKind::Depth,
                w::Budget::Arguments => h::BudgetKind::Arguments,
                w::Budget::Results => h::BudgetKind::Results,
                w::Budget::Waiting => h::BudgetKind::Waiting,
                w::Budget::Questions => h::BudgetKind::Questions,
                w::Budget::Tokens => h::BudgetKind::Tokens,
                w::Budget::Stored => h::BudgetKind::Stored,
            };
            h::ToolError::Exhausted(h::Exhaustion { budget, limit })
        }
        w::ToolError::Unsupported(what) => h::ToolError::Unsupported(what),
    }
}

pub(super) fn exhaustion_to_guest(exhaustion: h::Exhaustion) -> w::Exhaustion {
    let budget = match exhaustion.budget {
        h::BudgetKind::Fuel => w::Budget::Fuel,
        h::BudgetKind::Cpu => w::Budget::Cpu,
        h::BudgetKind::Deadline => w::Budget::Deadline,
        h::BudgetKind::Memory => w::Budget::Memory,
        h::BudgetKind::Output => w::Budget::Output,
        h::BudgetKind::Chunks => w::Budget::Chunks,
        h::BudgetKind::Calls => w::Budget::Calls,
        h::BudgetKind::Depth => w::Budget::Depth,
        h::BudgetKind::Arguments => w::Budget::Arguments,
        h::BudgetKind::Results => w::Budget::Results,
        h::BudgetKind::Waiting => w::Budget::Waiting,
        h::BudgetKind::Questions => w::Budget::Questions,
        h::BudgetKind::Tokens => w::Budget::Tokens,
        h::BudgetKind::Stored => w::Budget::Stored,
    };
    w::Exhaustion { budget, limit: exhaustion.limit }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_survives_both_conversions() {
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
