//! The agent's side of reverse calls: agent-side tools loaded as components in this host.

mod face;
mod local;
mod nobody;

pub use face::{Asker, Face, Heard, ToolRequest, Verdict};
pub use local::LocalAgent;
pub use nobody::Nobody;
