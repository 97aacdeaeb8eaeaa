//! The only place that names rmcp types: MCP 2026-07-28 and 2025-11-25, over stdio and Streamable HTTP.
//!
//! A thin handler table. What is behind a method is in a file of its own; nothing below this module knows MCP.

mod calling;
mod changed;
mod completion;
mod content;
mod legacy;
mod listen;
mod listing;
mod page;
mod prompts;
mod resources;
mod result;
mod server;
mod stream;
mod tools;
pub mod transport;

pub use server::{Parts, Server};

/// The extension under which a client asks for chunks, and the notification that carries one.
pub const PARTIAL_RESULTS: &str = "dev.portcullis/partial-results";
/// See [`PARTIAL_RESULTS`].
pub const PARTIAL_RESULT_NOTIFICATION: &str = "notifications/dev.portcullis/partial_result";
/// `_meta` key of a request: echoed in each chunk.
const PARTIAL_RESULT_TOKEN: &str = "dev.portcullis/partialResultToken";
/// `_meta` key of a result: what the call cost.
const USAGE: &str = "dev.portcullis/usage";
/// `_meta` key of a failed result: the typed error.
const ERROR: &str = "dev.portcullis/error";
