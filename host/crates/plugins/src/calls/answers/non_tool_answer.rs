//! Checks answers of exports that are not tools: resource contents, prompts and completions.

use crate::calls::answers::answer::{CallUsage, ResourceContents};
use crate::calls::answers::guest_error::to_error_text;
use crate::calls::answers::payload_size::count_output;
use crate::catalog::Plugin;
use crate::offer::{check_text, check_uri};
use runtime::engine::CallError;
use runtime::imports::{CallImports, Completion, ContentData, EmbeddedResource, PromptResult, ReadError, ToolError};

/// Completion values that are passed on; the protocol allows no more.
const MAX_COMPLETIONS: usize = 100;
/// Bytes of one completion value, which is shown in a list while somebody types.
const MAX_COMPLETION_BYTES: usize = 1 << 10;

/// Checks what was read from the resource `requested`.
pub(in crate::calls) fn check_contents(
    requested: &str,
    plugin: &Plugin,
    imports: &CallImports,
    answer: Result<Vec<EmbeddedResource>, ReadError>,
    usage: &mut CallUsage,
) -> Result<ResourceContents, CallError> {
    let contents = match answer {
        Ok(contents) => contents,
        Err(ReadError::NotFound) => return Ok(None),
        Err(ReadError::Failed(error)) => return Err(to_call_error(plugin, imports, error)),
    };
    if contents.is_empty() {
        return Err(invalid("it found the resource but gave no contents".into()));
    }
    count_output(imports, &contents, usage)?;
    for content in &contents {
        check_uri(&content.uri).map_err(|problem| invalid(format!("a URI that it gave {problem}")))?;
        // A client may store contents under their own URI, which must not be another plugin's.
        if content.uri != requested && !plugin.has_resource(&content.uri) {
            return Err(invalid(format!("it gave `{}`, which is not its resource", content.uri)));
        }
        check_media_type(content.mime_type.as_deref())?;
    }
    Ok(Some(contents))
}

pub(in crate::calls) fn check_prompt(
    plugin: &Plugin,
    imports: &CallImports,
    answer: Result<PromptResult, ToolError>,
    usage: &mut CallUsage,
) -> Result<PromptResult, CallError> {
    let result = answer.map_err(|error| to_call_error(plugin, imports, error))?;
    count_output(imports, &result, usage)?;
    if result.messages.is_empty() {
        return Err(invalid("the prompt has no message".into()));
    }
    if let Some(text) = &result.description {
        check_text(text).map_err(|problem| invalid(format!("the prompt's description {problem}")))?;
    }
    for message in &result.messages {
        message.content.check().map_err(invalid)?;
        if let ContentData::Resource(resource) = &message.content.data {
            check_media_type(resource.mime_type.as_deref())?;
        }
    }
    Ok(result)
}

/// Checks completion values, and cuts them to [`MAX_COMPLETIONS`].
pub(in crate::calls) fn check_completion(
    plugin: &Plugin,
    imports: &CallImports,
    answer: Result<Completion, ToolError>,
    usage: &mut CallUsage,
) -> Result<Completion, CallError> {
    let mut completion = answer.map_err(|error| to_call_error(plugin, imports, error))?;
    count_output(imports, &completion, usage)?;
    if completion.values.len() > MAX_COMPLETIONS {
        completion.total.get_or_insert(completion.values.len() as u64);
        completion.values.truncate(MAX_COMPLETIONS);
        completion.has_more = true;
    }
    for value in &completion.values {
        if value.len() > MAX_COMPLETION_BYTES {
            let size = value.len();
            return Err(invalid(format!("a completion is {size} bytes, more than {MAX_COMPLETION_BYTES}")));
        }
        check_text(value).map_err(|problem| invalid(format!("a completion {problem}")))?;
    }
    Ok(completion)
}

fn check_media_type(text: Option<&str>) -> Result<(), CallError> {
    match text {
        Some(text) if !text.contains('/') || text.chars().any(char::is_control) => {
            Err(invalid(format!("{text:?} is not a media type")))
        }
        _ => Ok(()),
    }
}

fn to_call_error(plugin: &Plugin, imports: &CallImports, error: ToolError) -> CallError {
    to_error_text(plugin, imports, error).map_or_else(|error| error, |reason| CallError::Failed { reason })
}

fn invalid(reason: String) -> CallError {
    CallError::InvalidOutput { reason }
}
