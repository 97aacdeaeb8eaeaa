//! `wasix:mcp@25.6.18`: one interface, `router`, with functions for tools, resources and prompts.

mod call;
mod content;
mod exports;
mod offer;

pub(super) use exports::WasixExports;
