//! What the user or the agent says to a call that is already running.
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

/// The next message, in the order in which they came; none when there is none. Never waits. Messages are untrusted text.
pub fn next() -> Option<String> {
    imports::steered()
}
