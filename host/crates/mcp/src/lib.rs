//! The only place that names rmcp types: MCP 2026-07-28 and 2025-11-25, over stdio and Streamable HTTP.
//!
//! A thin handler table. What is behind a method is in a file of its own; nothing below this module knows MCP.
#![allow(
    deprecated,
    reason = "sampling, roots and logging are deprecated in the protocol, and clients still have them"
)]

mod asking;
mod changed;
mod completion;
mod content;
mod form;
mod legacy;
mod listen;
mod listing;
mod lot;
mod page;
mod pending;
mod prompts;
mod published;
mod record;
mod resources;
mod respond;
mod result;
mod reverse;
mod round;
mod seal;
mod server;
mod session;
mod steer;
mod stream;
mod tools;
pub mod transport;
mod updates;
mod vendor;
mod wire;

pub use lot::Lot;
pub use reverse::AskTools;
pub use reverse::EXTENSION as CLIENT_TOOLS;
#[doc(hidden)]
pub use seal::ForeignState;
pub use server::{Parts, Server};
pub use steer::STEER_CALL;

// The protocol's words for content and questions, for the room that is a client of others.
pub use asking::client_error;
pub use content::{blocks, content, resource};
pub use seal::random;
pub use services::shelf::CHUNK_ORIGIN;
pub use wire::{sample_content, sample_piece};

/// The extension under which a client asks for chunks, and the notification that carries one.
pub const PARTIAL_RESULTS: &str = "dev.portcullis/partial-results";
/// See [`PARTIAL_RESULTS`].
pub const PARTIAL_RESULT_NOTIFICATION: &str = "notifications/dev.portcullis/partial_result";
/// `_meta` key of a request: echoed in each chunk.
pub const PARTIAL_RESULT_TOKEN: &str = "dev.portcullis/partialResultToken";
/// `_meta` key of a result: what the call cost.
const USAGE: &str = "dev.portcullis/usage";
/// `_meta` key of a result: what became of its chunks.
const STREAM: &str = "dev.portcullis/stream";
/// `_meta` key of a progress notification that stands for a chunk: the chunk.
pub const CHUNK: &str = "dev.portcullis/chunk";
/// `_meta` key of a failed result: the typed error.
const ERROR: &str = "dev.portcullis/error";
/// `_meta` key under which a client marks what belongs together; echoed on everything that does.
pub const CORRELATION: &str = "dev.portcullis/correlationId";
/// `_meta` key of whatever belongs to a call: its id, by which it can be steered.
pub const CALL: &str = "dev.portcullis/call";
/// `_meta` key that says which plugin something comes from.
const SOURCE: &str = "dev.portcullis/source";
