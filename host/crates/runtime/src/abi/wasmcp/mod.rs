//! `wasmcp:mcp-v20251125` and `wasmcp:mcp-v20250618`, in all their patch versions: values are read by the names of their
//! fields, so that one adapter serves all. `server_io` links what such a component imports, and `sessions` links what it keeps
//! between calls.

mod call;
mod content;
mod exports;
mod form_schema;
mod function;
mod handles;
mod offer;
mod packages;
mod questions;
mod server_io;
mod session_types;
mod sessions;
mod streams;

pub(super) use exports::WasmcpExports;
pub(super) use server_io::{add_to_linker, check_imports};
