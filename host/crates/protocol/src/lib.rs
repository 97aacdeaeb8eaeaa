//! What the MCP server and the MCP client share: names on the wire, content blocks, questions to a client.
#![allow(
    deprecated,
    reason = "sampling, roots and logging are deprecated in the protocol, and clients still have them"
)]

pub mod content;
pub mod json_text;
pub mod names;
pub mod questions;
pub mod sampling;
