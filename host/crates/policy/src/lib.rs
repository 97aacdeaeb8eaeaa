//! Who may do what, and how much of it: pure values and decisions that deny by default.
//!
//! Nothing here does I/O, waits, or knows wasmtime or MCP. Two parties must agree before a plugin may use a capability: the
//! manifest [requests](Requests) it and the operator [grants](Grants) it. The intersection is the plugin's [`Authority`]. What
//! the client declares on a request narrows it further, when the call is made.

mod approval;
mod authority;
mod capabilities;
mod denial;
mod enclosing;
mod identity;
mod limit_table;
mod limits;
mod lineage;
mod names;
mod plugin;
mod withdrawn_list;

pub use approval::ApprovalRule;
pub use authority::{Authority, HostEnvironment};
pub use capabilities::{
    Access, AddressClass, CAPABILITY_IMPORTS, Capability, Choice, ClientGrants, ClientRequests, Extent,
    FilesystemGrant, FlowError, FlowPattern, GrantProposal, Grants, HttpGrant, HttpPattern, HttpPatternError,
    HttpTarget, HttpUrlError, Mount, MountOpening, Origin, PrivateOrigins, Recipient, RequestPath, RequestPathError,
    RequestedCapability, Requests, SampleGrant, SampleLimit, SampleUsage, ScratchGrant, SecretGrant, StateGrant,
    first_blocked, uses,
};
pub use denial::{ASK_THE_USER, Denial, grant_command};
pub use enclosing::note_enclosing;
pub use identity::{DataKey, Digest, DigestError, PluginId, Principal, Side};
pub use limit_table::{LimitRow, LimitScope, limit_table, limits_page};
pub use limits::{
    BreakerLimits, Budget, BudgetShare, BudgetUsage, DayUsedUp, FuelLimits, FuelOwner, IdempotencyLimits, Limits,
    Metering, Overflow, ParkedCallLimits, PrincipalLimits, RangeError, Rate, RateError, SharedBudget, Survive,
    TaskLimits, TokenBucket,
};
pub use lineage::{Lineage, LineageError, LineageUsage, PrivateWatch, TreeBudget};
pub use names::{
    DistinctNames, Glob, GlobError, HostPattern, HostPatternError, KEPT_OF_NAME, NameClash, ToolPattern,
    ToolPatternError, is_name, looks_like_host, secret_in_value,
};
pub use plugin::PluginSpec;
pub use withdrawn_list::WithdrawnList;
