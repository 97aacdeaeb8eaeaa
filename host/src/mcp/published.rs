//! What calls left behind for their principal, in the protocol's words.

use super::SOURCE;
use super::content::{annotations, contents, role};
use crate::imports::{Annotations, Content, EmbeddedResource, Provenance};
use crate::shelf::{Filled, Listed, ListedPrompt, Reading, Template};
use rmcp::model::{
    GetPromptResult, MetaObject, Prompt, PromptArgument, PromptMessage, Resource, ResourceContents, ResourceTemplate,
};

/// The scheme of their URIs, which no plugin can have.
pub(super) const SCHEME: &str = "portcullis:";

/// In a list.
pub(super) fn resource(listed: Listed) -> Resource {
    let mut resource = Resource::new(listed.uri, listed.name);
    resource.title = listed.title;
    resource.description = listed.description;
    resource.mime_type = listed.mime_type;
    resource.size = listed.size;
    resource.annotations = (listed.annotations != Annotations::default()).then(|| annotations(listed.annotations));
    resource.meta = listed.source.as_ref().map(meta);
    resource
}

/// In a list.
pub(super) fn template(listed: &Template) -> ResourceTemplate {
    ResourceTemplate::new(listed.uri, listed.name).with_description(listed.description)
}

/// In a list.
pub(super) fn prompt(listed: ListedPrompt) -> Prompt {
    let arguments = listed.arguments.into_iter().map(|name| PromptArgument::new(name).with_required(true)).collect();
    let mut prompt = Prompt::new(listed.name, listed.description, Some(arguments));
    prompt.title = listed.title;
    prompt.meta = Some(meta(&listed.source));
    prompt
}

/// In full.
pub(super) fn reading(reading: Reading) -> ResourceContents {
    let Reading { uri, mime_type, body, source } = reading;
    let contents = contents(EmbeddedResource { uri, mime_type, body });
    match source {
        Some(source) => contents.with_meta(meta(&source)),
        None => contents,
    }
}

/// Filled in; `about` is `_meta` of every result.
pub(super) fn filled(filled: Filled, mut about: MetaObject) -> GetPromptResult {
    let message = |(by, text)| PromptMessage::new(role(by), super::content::block(Content::text(text)));
    let mut result = GetPromptResult::new(filled.messages.into_iter().map(message).collect());
    result.description = filled.description;
    about.extend(meta(&filled.source));
    result.meta = Some(about);
    result
}

fn meta(source: &Provenance) -> MetaObject {
    let mut meta = MetaObject::new();
    meta.insert(SOURCE.to_owned(), serde_json::to_value(source).unwrap_or_default());
    meta
}
