//! Who may do what, and how much of it: pure values and decisions, deny by default.
//!
//! Nothing here does I/O, waits, or knows wasmtime or MCP. Two keys must agree before a plugin may use a capability:
//! what its manifest [requests](Requests) and what the operator [granted](Grants); the intersection is its
//! [`Authority`]. The third key, the client's declaration on a request, narrows further at call time.

mod address;
mod asking;
mod authority;
mod budget;
mod ceilings;
mod decide;
mod denial;
mod digest;
mod flow;
mod grants;
mod host_pattern;
mod http;
mod http_url;
mod limits;
mod lineage;
mod parking;
mod pattern;
mod plugin;
mod principal;
mod sharing;
mod withdrawn;
mod within;

pub use address::Reach;
pub use asking::{ClientGrants, ClientRequests, SampleGrant};
pub use authority::{Authority, Machine, Mount};
pub use budget::{Budget, Spent};
pub use denial::{Capability, Denial, grant_command};
pub use digest::{Digest, DigestError};
pub use flow::{FlowError, FlowPattern, Hearer, Origin, Secrets};
pub use grants::{Access, FilesystemGrant, Grants, HttpGrant, Requests, ScratchGrant, SecretGrant, StateGrant};
pub use host_pattern::{HostPattern, HostPatternError};
pub use http::{HttpPattern, HttpPatternError, HttpTarget};
pub use http_url::HttpUrlError;
pub use limits::{LimitError, Limits, Metering, Overflow};
pub use lineage::{Lineage, LineageError};
pub use parking::ParkingLimits;
pub use pattern::{PatternError, ToolPattern};
pub use plugin::{PluginId, PluginSpec, Side};
pub use principal::Principal;
pub use sharing::{BreakerLimits, Bucket, PrincipalLimits, Rate, RateError};
pub use withdrawn::Withdrawn;
