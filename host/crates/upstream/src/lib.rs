//! Connections to MCP servers behind this host. A lost server is reconnected; until then, calls of its tools report that.
#![allow(
    deprecated,
    reason = "sampling, roots, logging and legacy subscriptions are deprecated in the protocol, and servers still use them"
)]

mod agent_tools;
mod api;
mod calls;
mod connection;
pub mod gateway;
mod item_requests;
mod listed;
mod open_call;
mod server;
mod server_input;
mod transport;
mod updates;

pub use agent_tools::UpstreamTools;
pub use api::call::{UpstreamCall, UpstreamResult};
pub use api::error::UpstreamError;
pub use api::handler;
pub use api::handler::{AgentHandler, Changed, Requester, ReverseCallDecision, ReverseCallRequest, UpstreamCallEvent};
pub use api::offer::ToolOffer;
pub use api::resume_point::ResumePoint;
pub use api::settings::{ProtocolVersions, UpstreamSettings};
pub use server::Upstream;
