//! Results that are returned instead of a result that does not exist.

use bytesize::ByteSize;
use protocol::names::ERROR_META;
use rmcp::model::JsonObject;
use serde_json::{Value, json};

/// The result if nobody knows what the call did.
pub(crate) fn outcome_unknown() -> JsonObject {
    failed(
        "outcome-unknown",
        "The host ended while this call ran, and it is unknown what it did. It is not run again under the same idempotency key. \
         Look at what it was to do before you call again with another key.",
    )
}

/// The same for a call without a key.
pub(crate) fn outcome_unknown_without_key() -> JsonObject {
    failed(
        "outcome-unknown",
        "The server was killed while this call ran, and was started again. It is unknown what the call did, so it was not run again. \
         Look at what it was to do before you call again.",
    )
}

pub(crate) fn cancelled() -> JsonObject {
    failed(
        "cancelled",
        "The call was cancelled before it ended. What it had done until then is done. To call again, use another idempotency key.",
    )
}

/// The result if a call that waited for answers is gone; `why` is the reason.
pub(crate) fn given_up(why: &str) -> JsonObject {
    let text = format!(
        "The call waited for answers and was given up before it ended: {why}. What it had done until then is done. To call \
         again, use another idempotency key."
    );
    failed("cancelled", &text)
}

/// Replaces a result for which there is no room. The host's own `_meta` about the call is kept.
pub(crate) fn not_kept(bytes: u64, meta: Option<&Value>) -> JsonObject {
    let text = format!(
        "The call was done, and is not run again under the same idempotency key. Its result of {} was not kept: \
         server.idempotency.result and server.idempotency.size set how much is.",
        ByteSize(bytes)
    );
    let mut result = failed("result-not-kept", &text);
    if let (Some(Value::Object(meta)), Some(kept)) = (meta, result.get_mut("_meta").and_then(Value::as_object_mut)) {
        for (key, value) in meta.iter().filter(|(key, _)| *key != ERROR_META) {
            kept.insert(key.clone(), value.clone());
        }
    }
    result
}

/// The result if the call was a task that has been removed.
pub(crate) fn not_kept_any_more() -> JsonObject {
    failed(
        "result-not-kept",
        "The call was done as a task, and is not run again under the same idempotency key. The task has ended and was removed \
         with its result: server.tasks.keep sets how long it is kept.",
    )
}

fn failed(code: &str, text: &str) -> JsonObject {
    let result = json!({
        "resultType": "complete",
        "content": [{ "type": "text", "text": text }],
        "isError": true,
        "_meta": { ERROR_META: { "code": code } },
    });
    result.as_object().cloned().unwrap_or_default()
}
