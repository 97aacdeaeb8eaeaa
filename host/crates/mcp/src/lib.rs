//! The MCP server: revisions 2026-07-28 and 2025-11-25, over stdio and Streamable HTTP.
//!
//! A module imports only modules before it in this list: `request_context`, `resumable_stream`, `json_digest`, `json_size`,
//! `upkeep`, `client_tools` and `subscriptions`, `client`, `reverse`, `calls`, `tasks`, `idempotency`, `listing`,
//! `server_context`, `requests`, `handler`, `direct_call`, `transport`.
#![allow(
    deprecated,
    reason = "sampling, roots and logging are deprecated in the protocol, and clients still have them"
)]

mod calls;
mod client;
mod client_tools;
mod direct_call;
mod handler;
mod idempotency;
mod json_digest;
mod json_size;
mod listing;
mod request_context;
mod requests;
mod resumable_stream;
mod reverse;
mod server_context;
mod subscriptions;
mod tasks;
pub mod transport;
mod unreadable;
mod upkeep;

pub use calls::parked_calls::{ParkedCalls, SharedParking};
pub use direct_call::read_both_ways;
pub use handler::{Server, ServerParts};
pub use idempotency::IdempotencyKeys;
pub use listing::fallback_tools::FALLBACK_TOOLS;
pub use requests::call_result::finished_to_json;
pub use reverse::StandInTools;
pub use tasks::{OperatorRequest, Sample, StoredTask, StoredTasks, TaskStore, Tasks, Timeline, TimelineStep};
