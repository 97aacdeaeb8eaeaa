//! Who may do what, and how much of it: pure values and decisions that deny by default.
//!
//! Nothing here does I/O, waits, or knows wasmtime or MCP. Two keys must agree before a plugin may use a capability:
//! what its manifest [requests](Requests) and what the operator [granted](Grants); the intersection is its
//! [`Authority`]. The third key, the client's declaration on a request, narrows further at call time.

mod address;
mod approval;
mod authority;
mod budget;
mod capability;
mod client_grants;
mod decision;
mod denial;
mod digest;
mod distinct_names;
mod enclosing;
mod flow;
mod folded_names;
mod fuel_limits;
mod glob;
mod grant_check;
mod grant_limit;
mod grant_subset;
mod grants;
mod guest_path;
mod host_limits;
mod host_pattern;
mod http_pattern;
mod http_target;
mod idempotency_limits;
mod limit_table;
mod limits;
mod lineage;
mod names;
mod plugin;
mod principal;
mod range;
mod rate;
mod request_path;
mod seen_origins;
mod shared_budget;
mod tool_pattern;
mod tree_budget;
mod withdrawn_list;

pub use address::AddressClass;
pub use approval::ApprovalRule;
pub use authority::{Authority, HostEnvironment, Mount, MountOpening};
pub use budget::{Budget, BudgetUsage};
pub use capability::Capability;
pub use client_grants::{ClientGrants, ClientRequests, SampleGrant, SampleLimit, SampleUsage};
pub use denial::{ASK_THE_USER, Denial, grant_command};
pub use digest::{Digest, DigestError};
pub use distinct_names::{DistinctNames, NameClash};
pub use enclosing::note_enclosing;
pub use flow::{FlowError, FlowPattern, Origin, PrivateOrigins, Recipient, first_blocked};
pub use folded_names::{KEPT_OF_NAME, looks_like_host};
pub use fuel_limits::{DayUsedUp, FuelLimits, FuelOwner};
pub use glob::{Glob, GlobError};
pub use grants::{Access, FilesystemGrant, Grants, HttpGrant, Requests, ScratchGrant, SecretGrant, StateGrant};
pub use host_limits::{BreakerLimits, ParkedCallLimits, PrincipalLimits, Survive, TaskLimits};
pub use host_pattern::{HostPattern, HostPatternError};
pub use http_pattern::{HttpPattern, HttpPatternError};
pub use http_target::{HttpTarget, HttpUrlError};
pub use idempotency_limits::IdempotencyLimits;
pub use limit_table::{LimitRow, LimitScope, limit_table, limits_page};
pub use limits::{Limits, Metering, Overflow};
pub use lineage::{Lineage, LineageError, LineageUsage, PrivateWatch};
pub use names::is_name;
pub use plugin::{PluginId, PluginSpec, Side};
pub use principal::Principal;
pub use range::RangeError;
pub use rate::{Rate, RateError, TokenBucket};
pub use request_path::{RequestPath, RequestPathError};
pub use shared_budget::{BudgetShare, SharedBudget};
pub use tool_pattern::{ToolPattern, ToolPatternError};
pub use tree_budget::TreeBudget;
pub use withdrawn_list::WithdrawnList;
