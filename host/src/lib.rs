//! Portcullis: a WebAssembly plugin host for MCP tools.
//!
//! The binary crate: configuration, composition root and command line. `ARCHITECTURE.md` describes the other crates and the
//! path of a call through them.

pub mod cli;
pub mod config;
#[cfg(test)]
mod fuzzing;
pub mod host;
