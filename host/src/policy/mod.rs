//! Who may do what, and how much of it: pure values and decisions, deny by default.
//!
//! Nothing here does I/O, waits, or knows wasmtime or MCP. Two keys must agree before a plugin may use a capability:
//! what its manifest [requests](Requests) and what the operator [granted](Grants); the intersection is its
//! [`Authority`]. The third key, the client's declaration on a request, narrows further at call time.

mod authority;
mod budget;
mod denial;
mod limits;
mod pattern;
mod plugin;

pub use authority::{Access, Authority, FilesystemGrant, Grants, Mount, Requests};
pub use budget::{Budget, Lineage, LineageError, Spent};
pub use denial::{Capability, Denial};
pub use limits::{LimitError, Limits, Metering};
pub use pattern::{PatternError, ToolPattern};
pub use plugin::{PluginId, PluginSpec, Side};
