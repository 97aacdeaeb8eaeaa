//! Events for the principal: kept in an inbox that clients can read and watch.
//!
//! An event is never a request to a client; the client decides what to do about it. Needs a request in the manifest,
//! `#[plugin(requests(events = ["policy.*"]))]`, and a grant of the operator.
//!
//! ```no_run
//! use portcullis_guest::{ToolError, events};
//! use serde_json::json;
//!
//! fn announce(version: u32) -> Result<(), ToolError> {
//!     let payload = json!({ "version": version });
//!     events::emit_once("policy.effective", &format!("version-{version}"), &payload)?;
//!     Ok(())
//! }
//! ```

use serde::Serialize;

use crate::imports;

pub use crate::host_types::events::EventError;

/// Adds an event to the inbox of the call's principal. `name` consists of words with dots between them, such as
/// `policy.effective`; `payload` is written as JSON.
///
/// # Errors
/// See [`EventError`]; `?` ends the call with the matching [`ToolError`](crate::ToolError).
pub fn emit(name: &str, payload: &impl Serialize) -> Result<(), EventError> {
    imports::emit_event(name, &json(payload)?, None).map(|_| ())
}

/// As [`emit`], unless an event with the same name and key exists already. Returns whether it was added.
///
/// # Errors
/// As [`emit`].
pub fn emit_once(name: &str, dedupe_key: &str, payload: &impl Serialize) -> Result<bool, EventError> {
    imports::emit_event(name, &json(payload)?, Some(dedupe_key))
}

fn json(payload: &impl Serialize) -> Result<String, EventError> {
    let invalid = |error| EventError::Invalid(format!("the payload cannot be written as JSON: {error}"));
    serde_json::to_string(payload).map_err(invalid)
}
