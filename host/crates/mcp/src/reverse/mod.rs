//! Reverse calls: a plugin calls a tool of the agent's side while its own call runs.
//!
//! [`LaneRouter`] is a call's only access to those tools. It looks for a tool first among the host's own, then among
//! those that the client declared, and last among those for which the client's model or user stands in.

mod call_params;
mod chains;
mod counter;
mod host_tools;
pub(crate) mod live;
mod outcome;
pub(crate) mod request;
mod router;
mod stand_in;

pub(crate) use chains::CallChains;
pub(crate) use host_tools::HostToolsOnly;
pub(crate) use router::{LaneResources, LaneRouter};
pub use stand_in::StandInTools;
