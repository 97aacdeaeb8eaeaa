//! Portcullis: a WebAssembly plugin host for MCP tools.
//!
//! Modules in the order in which they may import one another; `tests/tidy.rs` keeps it so. A call's way through them is
//! told in `ARCHITECTURE.md`.

pub mod abi;
pub mod agent;
pub mod audit;
pub mod changes;
pub mod cli;
pub mod clock;
pub mod config;
pub mod confine;
pub mod connections;
pub mod egress;
pub mod engine;
#[cfg(test)]
mod fuzzing;
pub mod host;
pub mod identity;
pub mod imports;
pub mod install;
pub mod mcp;
pub mod model;
pub mod outbound;
pub mod package;
pub mod policy;
pub mod registry;
pub mod secrets;
pub mod shelf;
pub mod state;
pub mod storage;
pub mod telemetry;
