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

use crate::imports;

/// Returns the next message in order of arrival, or `None` if there is none. Never waits. Messages are untrusted text.
pub fn next() -> Option<String> {
    imports::steered()
}
