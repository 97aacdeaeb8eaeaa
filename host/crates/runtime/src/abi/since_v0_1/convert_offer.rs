//! Between generated types of what a plugin offers beside tools and the host's own.

use super::bindings::exports::portcullis::plugin::{completions as wc, prompts as wp, resources as wr};
use super::convert::{
    annotations_from_guest, content_from_guest, embedded_from_guest, error_from_guest, icon_from_guest, role_from_guest,
};
use crate::imports as h;

pub(super) fn resource_from_guest(resource: wr::ResourceInfo) -> h::ResourceInfo {
    h::ResourceInfo {
        uri: resource.uri,
        name: resource.name,
        title: resource.title,
        description: resource.description,
        mime_type: resource.mime_type,
        size: resource.size,
        annotations: resource.annotations.map(annotations_from_guest),
        icons: resource.icons.into_iter().map(icon_from_guest).collect(),
    }
}

pub(super) fn template_from_guest(template: wr::ResourceTemplate) -> h::ResourceTemplate {
    h::ResourceTemplate {
        uri_template: template.uri_template,
        name: template.name,
        title: template.title,
        description: template.description,
        mime_type: template.mime_type,
        annotations: template.annotations.map(annotations_from_guest),
        icons: template.icons.into_iter().map(icon_from_guest).collect(),
    }
}

pub(super) fn read_from_guest(
    answer: Result<Vec<super::bindings::portcullis::plugin::types::EmbeddedResource>, wr::ReadError>,
) -> Result<Vec<h::EmbeddedResource>, h::ReadError> {
    match answer {
        Ok(pieces) => Ok(pieces.into_iter().map(embedded_from_guest).collect()),
        Err(wr::ReadError::NotFound) => Err(h::ReadError::NotFound),
        Err(wr::ReadError::Failed(error)) => Err(h::ReadError::Failed(error_from_guest(error))),
    }
}

pub(super) fn prompt_from_guest(prompt: wp::Prompt) -> h::Prompt {
    let argument = |argument: wp::PromptArgument| h::PromptArgument {
        name: argument.name,
        title: argument.title,
        description: argument.description,
        required: argument.required,
    };
    h::Prompt {
        name: prompt.name,
        title: prompt.title,
        description: prompt.description,
        arguments: prompt.arguments.into_iter().map(argument).collect(),
        icons: prompt.icons.into_iter().map(icon_from_guest).collect(),
    }
}

pub(super) fn prompt_result_from_guest(result: wp::PromptResult) -> h::PromptResult {
    let message = |message: wp::PromptMessage| h::PromptMessage {
        role: role_from_guest(message.role),
        content: content_from_guest(message.content),
    };
    h::PromptResult { description: result.description, messages: result.messages.into_iter().map(message).collect() }
}

pub(super) fn completing_to_guest(of: h::Completing) -> wc::Reference {
    match of {
        h::Completing::Prompt(name) => wc::Reference::Prompt(name),
        h::Completing::Template(template) => wc::Reference::ResourceTemplate(template),
    }
}

pub(super) fn completion_from_guest(completion: wc::Completion) -> h::Completion {
    h::Completion { values: completion.values, total: completion.total, has_more: completion.has_more }
}
