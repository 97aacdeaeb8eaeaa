//! `portcullis:plugin@0.1.x`: one file per WIT interface, with its link or its calls, and its conversions. `types`
//! holds the conversions that several interfaces share.

mod agent_tools;
mod bindings;
mod call;
mod checkpoint;
mod client;
mod completions;
mod connections;
mod events;
mod exports;
mod http;
mod linker;
mod log;
mod meter;
mod output;
mod progress;
mod prompts;
mod publish;
mod reconcile;
mod resources;
mod state;
mod steering;
mod tools;
mod types;

pub(super) use bindings::portcullis::plugin::types::CallContext;
pub(super) use call::call;
pub(super) use exports::V01Exports;
pub(super) use linker::new_linker;
pub(super) use types::context_to_guest;

use super::store;
