//! The agent's side of reverse calls: agent-side tools loaded as components in this host.

mod local;
mod nobody;

pub use local::LocalAgent;
pub use nobody::Nobody;
