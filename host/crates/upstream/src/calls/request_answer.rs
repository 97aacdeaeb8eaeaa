//! Reads what a server answers to a request for a resource, a prompt or completions. Untrusted.

use crate::api::error::UpstreamError;
use crate::calls::exchange::{Exchange, said};
use crate::server_input::text::visible;
use plugins::catalog::{ItemRequest, ServerAnswer};
use protocol::content::{from_block, from_resource_contents, from_role};
use rmcp::model::{CompleteResult, GetPromptResult, PromptMessage, ReadResourceResult, ServerResult};
use runtime::imports::{Completion, EmbeddedResource, PromptMessage as OurMessage, PromptResult, check_link};
use serde_json::{Map, Value};

/// Size of what is read, in bytes. Bounds what a server makes us keep.
const MAX_ANSWER: u64 = 8 << 20;
/// Completion values that are passed on; the protocol allows no more.
const MAX_COMPLETIONS: usize = 100;
/// Bytes of one of them, which is shown in a list while somebody types.
const MAX_COMPLETION_BYTES: usize = 1 << 10;

pub(crate) struct ServerSaid {
    pub(crate) answer: ServerAnswer,
    /// Its `_meta`, without keys of the host's namespace or of the protocol.
    pub(crate) meta: Map<String, Value>,
}

pub(crate) fn read_answer(
    exchange: &Exchange<'_>,
    item: &ItemRequest,
    result: ServerResult,
) -> Result<ServerSaid, UpstreamError> {
    let unusable = |what: String| exchange.malformed(format!("content that is not usable: {what}"));
    let (answer, size, meta) = match (item, result) {
        (ItemRequest::Resource { .. }, ServerResult::ReadResourceResult(ReadResourceResult { contents, meta, .. })) => {
            let contents = contents.into_iter().map(from_resource_contents).collect::<Result<Vec<_>, _>>();
            let contents = contents.map_err(unusable)?;
            for content in &contents {
                // Spaces are not allowed in URIs, but they do no harm.
                check_link(&content.uri.replace(' ', "%20")).map_err(unusable)?;
            }
            let size = contents.iter().map(EmbeddedResource::size).sum();
            (ServerAnswer::Resource(Some(contents)), size, meta)
        }
        (
            ItemRequest::Prompt { .. },
            ServerResult::GetPromptResult(GetPromptResult { description, messages, meta, .. }),
        ) => {
            let messages = messages.into_iter().map(read_message).collect::<Result<Vec<_>, _>>().map_err(unusable)?;
            let size = messages.iter().map(|message| message.content.size()).sum();
            let description = description.map(|text| visible(&text).into_owned());
            (ServerAnswer::Prompt(PromptResult { description, messages }), size, meta)
        }
        (ItemRequest::Completion(_), ServerResult::CompleteResult(CompleteResult { completion, meta, .. })) => {
            let (count, more) = (completion.values.len(), completion.has_more.unwrap_or_default());
            // People cannot choose a value that they do not see as it is.
            let is_shown = |value: &String| value.len() <= MAX_COMPLETION_BYTES && visible(value) == *value;
            let values = completion.values.into_iter().filter(is_shown).take(MAX_COMPLETIONS).collect();
            let has_more = more || count > MAX_COMPLETIONS;
            let completion = Completion { values, total: completion.total.map(u64::from), has_more };
            (ServerAnswer::Completion(completion), 0, meta)
        }
        _ => return Err(exchange.malformed("a result of another kind than the request's")),
    };
    if size > MAX_ANSWER {
        return Err(UpstreamError::TooLarge { server: exchange.server(), limit: MAX_ANSWER });
    }
    Ok(ServerSaid { answer, meta: said(meta.map(|meta| meta.0).unwrap_or_default()) })
}

fn read_message(message: PromptMessage) -> Result<OurMessage, String> {
    let content = from_block(message.content)?;
    content.check()?;
    Ok(OurMessage { role: from_role(message.role), content })
}
