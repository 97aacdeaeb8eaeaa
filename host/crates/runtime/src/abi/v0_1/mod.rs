//! `portcullis:plugin@0.1.x`: one file per WIT interface, with its link or its calls, and its conversions. `types`
//! holds the conversions that several interfaces share.

mod agent_tools;
mod bindings;
mod checkpoint;
mod client;
mod completions;
mod component;
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
mod ready;
mod reconcile;
mod resources;
mod state;
mod steering;
mod store;
mod tools;
mod types;

pub use component::{GuestOutcome, LinkedComponent, PreparedComponent, SpentStore};
pub use linker::GuestLinker;
