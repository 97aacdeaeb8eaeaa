//! Answers that are not a tool's: resources that were read, prompts filled in, suggestions. Checked before anybody sees
//! them, like a tool's.

use super::answer::{Usage, counted, own_error};
use super::offer::plain;
use super::plugin::Plugin;
use super::uri;
use runtime::engine::CallError;
use runtime::imports::{CallCtx, Completion, ContentData, EmbeddedResource, PromptResult, ReadError, ToolError};

/// Suggestions that are passed on; the protocol allows no more.
const MAX_SUGGESTIONS: usize = 100;
/// Bytes of one suggestion: it is shown in a list while somebody types.
const MAX_SUGGESTION: usize = 1 << 10;

/// What reading a resource gave; none when there is no such resource.
pub type Pieces = Option<Vec<EmbeddedResource>>;

/// Checks what was read under `asked`.
pub(super) fn pieces(
    asked: &str,
) -> impl FnOnce(&Plugin, &CallCtx, Result<Vec<EmbeddedResource>, ReadError>, &mut Usage) -> Result<Pieces, CallError> {
    move |plugin, call, answer, usage| {
        let pieces = match answer {
            Ok(pieces) => pieces,
            Err(ReadError::NotFound) => return Ok(None),
            Err(ReadError::Failed(error)) => return Err(failed(plugin, call, error)),
        };
        if pieces.is_empty() {
            return Err(invalid("it found the resource but gave nothing of it".into()));
        }
        counted(call, &pieces, usage)?;
        for piece in &pieces {
            uri::check(&piece.uri).map_err(|problem| invalid(format!("a URI that it gave {problem}")))?;
            // A client may keep what it reads under the piece's own URI, which must not be another plugin's.
            if piece.uri != asked && !plugin.has_resource(&piece.uri) {
                return Err(invalid(format!("it gave `{}`, which is not its resource", piece.uri)));
            }
            media_type(piece.mime_type.as_deref())?;
        }
        Ok(Some(pieces))
    }
}

/// Checks a filled-in prompt.
pub(super) fn prompt(
    plugin: &Plugin,
    call: &CallCtx,
    answer: Result<PromptResult, ToolError>,
    usage: &mut Usage,
) -> Result<PromptResult, CallError> {
    let result = answer.map_err(|error| failed(plugin, call, error))?;
    counted(call, &result, usage)?;
    if result.messages.is_empty() {
        return Err(invalid("the prompt has no message".into()));
    }
    if let Some(text) = &result.description {
        plain(text).map_err(|problem| invalid(format!("the prompt's description {problem}")))?;
    }
    for message in &result.messages {
        message.content.check().map_err(invalid)?;
        if let ContentData::Resource(resource) = &message.content.data {
            media_type(resource.mime_type.as_deref())?;
        }
    }
    Ok(result)
}

/// Checks suggestions, and cuts them to as many as may be passed on.
pub(super) fn suggestions(
    plugin: &Plugin,
    call: &CallCtx,
    answer: Result<Completion, ToolError>,
    usage: &mut Usage,
) -> Result<Completion, CallError> {
    let mut completion = answer.map_err(|error| failed(plugin, call, error))?;
    counted(call, &completion, usage)?;
    if completion.values.len() > MAX_SUGGESTIONS {
        completion.total.get_or_insert(completion.values.len() as u64);
        completion.values.truncate(MAX_SUGGESTIONS);
        completion.has_more = true;
    }
    for value in &completion.values {
        if value.len() > MAX_SUGGESTION {
            let size = value.len();
            return Err(invalid(format!("a suggestion is {size} bytes, more than {MAX_SUGGESTION}")));
        }
        plain(value).map_err(|problem| invalid(format!("a suggestion {problem}")))?;
    }
    Ok(completion)
}

fn media_type(text: Option<&str>) -> Result<(), CallError> {
    match text {
        Some(text) if !text.contains('/') || text.chars().any(char::is_control) => {
            Err(invalid(format!("{text:?} is no media type")))
        }
        _ => Ok(()),
    }
}

fn failed(plugin: &Plugin, call: &CallCtx, error: ToolError) -> CallError {
    own_error(plugin, call, error).map_or_else(|error| error, |reason| CallError::Failed { reason })
}

fn invalid(reason: String) -> CallError {
    CallError::InvalidOutput { reason }
}
