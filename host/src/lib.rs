//! Portcullis: a WebAssembly plugin host for MCP tools.
//!
//! Modules in the order in which they may import one another; `tests/tidy.rs` keeps it so. A call's way through them is
//! told in `ARCHITECTURE.md`.

pub mod cli;
pub mod config;
#[cfg(test)]
mod fuzzing;
pub mod host;
