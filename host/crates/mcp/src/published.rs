//! What the shelf holds, in the protocol's words: resources and prompts that exist since a call of the same principal.

use super::SOURCE;
use super::content::{annotations, contents, role};
use rmcp::model::{
    CacheScope, ContentBlock, GetPromptResult, MetaObject, Prompt, PromptArgument, PromptMessage, ReadResourceResult,
    Resource, ResourceTemplate,
};
use runtime::imports::{EmbeddedResource, Provenance};
use services::shelf::{Filled, Listed, ListedPrompt, Reading, TEMPLATES};

/// An entry of `resources/list`.
pub(super) fn resource(listed: Listed) -> Resource {
    let mut resource = Resource::new(listed.uri, listed.name);
    resource.title = listed.title;
    resource.description = listed.description;
    resource.mime_type = listed.mime_type;
    resource.size = listed.size;
    resource.annotations = Some(annotations(listed.annotations));
    resource.meta = listed.source.map(|source| sourced(MetaObject::new(), source));
    resource
}

/// Entries of `resources/templates/list`.
pub(super) fn templates() -> impl Iterator<Item = ResourceTemplate> {
    TEMPLATES.iter().map(|template| {
        let mut shown = ResourceTemplate::new(template.uri, template.name);
        shown.description = Some(template.description.to_owned());
        shown.mime_type = Some("application/json".to_owned());
        shown
    })
}

/// An entry of `prompts/list`.
pub(super) fn prompt(listed: ListedPrompt) -> Prompt {
    let arguments = listed.arguments.into_iter().map(|name| PromptArgument::new(name).with_required(true));
    let mut prompt = Prompt::new(listed.name, listed.description, Some(arguments.collect()));
    prompt.title = listed.title;
    prompt.meta = Some(sourced(MetaObject::new(), listed.source));
    prompt
}

/// What `resources/read` answers.
pub(super) fn reading(reading: Reading, meta: MetaObject) -> ReadResourceResult {
    let Reading { uri, mime_type, body, source } = reading;
    let piece = contents(EmbeddedResource { uri, mime_type, body });
    // It may change at any time, and it is nobody else's.
    let mut result = ReadResourceResult::new(vec![piece]).with_ttl_ms(0);
    result.cache_scope = Some(CacheScope::Private);
    result.meta = Some(match source {
        Some(source) => sourced(meta, source),
        None => meta,
    });
    result
}

/// What `prompts/get` answers.
pub(super) fn filled(filled: Filled, meta: MetaObject) -> GetPromptResult {
    let messages =
        filled.messages.into_iter().map(|(who, text)| PromptMessage::new(role(who), ContentBlock::text(text)));
    let mut result = GetPromptResult::new(messages.collect());
    result.description = filled.description;
    result.meta = Some(sourced(meta, filled.source));
    result
}

/// A call wrote it: whoever reads it should know which.
fn sourced(mut meta: MetaObject, source: Provenance) -> MetaObject {
    meta.insert(SOURCE.to_owned(), serde_json::to_value(source).unwrap_or_default());
    meta
}
