//! Messages from the user or the agent to a call that is already running.
//!
//! ```no_run
//! use portcullis_guest::{output, steering};
//!
//! fn write(chapters: u32) {
//!     let mut style = String::from("plain");
//!     for chapter in 1..=chapters {
//!         while let Some(message) = steering::next() {
//!             style = message;
//!         }
//!         let _ = output::emit(format!("Chapter {chapter}, in a style that is {style}"));
//!     }
//! }
//! ```

pub use crate::host_types::steering::Received;

use crate::imports;
use std::time::Duration;

/// Returns the next message in order of arrival, or `None` if there is none. Never waits. Messages are untrusted text.
pub fn next() -> Option<String> {
    imports::steered()
}

/// Waits for the next message; without a timeout, as long as the call may take. Waiting costs no fuel, and the deadline goes on. A
/// task that waits without a timeout may be suspended meanwhile: it goes on in this line when there is a message.
///
/// ```no_run
/// use portcullis_guest::steering::{self, Received};
///
/// /// Takes lines until the user has no more.
/// fn lines() -> Vec<String> {
///     let next = || match steering::receive(None) {
///         Received::Message(line) => Some(line),
///         Received::Ended | Received::TimedOut => None,
///     };
///     std::iter::from_fn(next).collect()
/// }
/// ```
pub fn receive(timeout: Option<Duration>) -> Received {
    imports::received(timeout)
}
