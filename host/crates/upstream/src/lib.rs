//! Connections to MCP servers behind this host. A lost server is reconnected; until then, calls of its tools report that.
#![allow(
    deprecated,
    reason = "sampling, roots, logging and legacy subscriptions are deprecated in the protocol, and servers still use them"
)]

mod agent_tools;
mod call;
mod capabilities;
mod chain;
mod client_events;
mod definitions;
mod error;
mod exchange;
pub mod gateway;
pub mod handler;
mod handshake_error;
mod invoke;
mod item_requests;
mod items;
mod line_rate;
mod links;
mod list_kind;
mod listed_item;
mod listed_members;
mod listed_tool;
mod live_lane;
mod offer;
mod open_calls;
mod ordered_transport;
mod pages;
mod pausing_client;
mod peer_account;
mod problems;
mod questions;
mod queued_chunks;
mod reconnect;
mod request;
mod request_answer;
mod responder;
mod resume_point;
mod reverse;
mod reverse_calls;
mod rounds;
mod server;
mod serving_time;
mod settings;
mod shared;
mod subscription;
mod task;
mod task_calls;
mod text;
mod tools;
mod transport;
mod updates;

pub use agent_tools::UpstreamTools;
pub use call::{UpstreamCall, UpstreamResult};
pub use error::UpstreamError;
pub use handler::{AgentHandler, Changed, Requester, ReverseCallDecision, ReverseCallRequest, UpstreamCallEvent};
pub use offer::ToolOffer;
pub use resume_point::ResumePoint;
pub use server::Upstream;
pub use settings::{ProtocolVersions, UpstreamSettings};
