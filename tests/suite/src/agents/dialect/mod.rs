//! The four protocols in which agents talk to their model.

mod anthropic;
mod chat;
mod gemini;
mod responses;

use super::conversation::Dialect;
use crate::web::Seen;
use serde_json::Value;

/// The protocol and the body of a request to a model; `None` for all other requests.
pub(super) fn request(seen: &Seen) -> Option<(&'static dyn Dialect, Value)> {
    const ALL: [&dyn Dialect; 4] = [&anthropic::Messages, &responses::Responses, &chat::Completions, &gemini::Generate];
    let dialect = ALL.into_iter().find(|dialect| dialect.is_at(seen.path()))?;
    Some((dialect, serde_json::from_slice(&seen.bytes).ok()?))
}
