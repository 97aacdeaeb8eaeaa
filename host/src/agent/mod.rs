//! The agent's side of reverse calls: agent-side tools loaded as components in this host, servers behind it, and whoever
//! decides and answers.

mod face;
pub mod gateway;
mod local;
mod nobody;
mod together;
pub mod upstream;

pub use face::{Asker, Face, Heard, ToolRequest, Verdict};
pub use local::LocalAgent;
pub use nobody::Nobody;
pub use together::Together;
pub use upstream::{Call, Called, Era, Offer, Upstream, UpstreamError, UpstreamSettings, UpstreamTools};
