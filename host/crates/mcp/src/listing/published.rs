//! Resources and prompts that calls of the same principal have published, as types of the protocol.

use protocol::content::{to_annotations, to_resource_contents, to_role};
use protocol::names::SOURCE_META;
use rmcp::model::{
    CacheScope, ContentBlock, GetPromptResult, MetaObject, Prompt, PromptArgument, PromptMessage, ReadResourceResult,
    Resource, ResourceTemplate,
};
use runtime::imports::{EmbeddedResource, Provenance};
use services::principal_store::{
    FilledPrompt, ListedPrompt, ListedResource, ResourceSnapshot, StoreTemplate, TEMPLATES,
};

pub(crate) fn to_resource(listed: ListedResource) -> Resource {
    let mut resource = Resource::new(listed.uri, listed.name);
    resource.title = listed.title;
    resource.description = listed.description;
    resource.mime_type = listed.mime_type;
    resource.size = listed.size;
    resource.annotations = Some(to_annotations(listed.annotations));
    resource.meta = listed.source.map(|source| with_source(MetaObject::new(), source));
    resource
}

/// `tasks` says whether clients get links to tasks.
pub(crate) fn to_templates(tasks: bool) -> impl Iterator<Item = ResourceTemplate> {
    const TASKS: StoreTemplate = StoreTemplate {
        uri: "portcullis://tasks/{id}{?after}",
        name: "task",
        description: "A call that goes on after its request was answered: how it stands, its output after the chunk with this number, and its result.",
    };
    TEMPLATES.iter().chain(tasks.then_some(&TASKS)).map(|template| {
        let mut shown = ResourceTemplate::new(template.uri, template.name);
        shown.description = Some(template.description.to_owned());
        shown.mime_type = Some("application/json".to_owned());
        shown
    })
}

pub(crate) fn to_prompt(listed: ListedPrompt) -> Prompt {
    let arguments = listed.arguments.into_iter().map(|name| PromptArgument::new(name).with_required(true));
    let mut prompt = Prompt::new(listed.name, listed.description, Some(arguments.collect()));
    prompt.title = listed.title;
    prompt.meta = Some(with_source(MetaObject::new(), listed.source));
    prompt
}

pub(crate) fn to_read_result(reading: ResourceSnapshot, meta: MetaObject) -> ReadResourceResult {
    let ResourceSnapshot { uri, mime_type, body, source } = reading;
    let piece = to_resource_contents(EmbeddedResource { uri, mime_type, body, meta: None });
    // It may change at any time and belongs to one principal.
    let mut result = ReadResourceResult::new(vec![piece]).with_ttl_ms(0);
    result.cache_scope = Some(CacheScope::Private);
    result.meta = Some(match source {
        Some(source) => with_source(meta, source),
        None => meta,
    });
    result
}

pub(crate) fn to_prompt_result(filled: FilledPrompt, meta: MetaObject) -> GetPromptResult {
    let messages =
        filled.messages.into_iter().map(|(who, text)| PromptMessage::new(to_role(who), ContentBlock::text(text)));
    let mut result = GetPromptResult::new(messages.collect());
    result.description = filled.description;
    result.meta = Some(with_source(meta, filled.source));
    result
}

/// Adds the call that published it.
fn with_source(mut meta: MetaObject, source: Provenance) -> MetaObject {
    meta.insert(SOURCE_META.to_owned(), serde_json::to_value(source).unwrap_or_default());
    meta
}
