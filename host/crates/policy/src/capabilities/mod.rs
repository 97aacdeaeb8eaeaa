//! The capabilities: what a manifest may request and an operator may grant, a file or a folder for each.
//!
//! Such a file says all that the host has to know of its capability: the values of a request and of a grant, how they are
//! checked, compared, shown and asked about, what a use of it is, when it is allowed, and what a denial says. The list of all
//! capabilities is in `list`, once; [`Requests`], [`Grants`], [`Capability`] and all that is said about them are derived from
//! it.

mod agent_tools;
mod client;
mod common;
mod connections;
mod env;
mod events;
mod filesystem;
mod flows;
mod http;
mod list;
mod publish;
mod scratch;
mod secrets;
mod state;

pub use client::{ClientGrants, ClientRequests, SampleGrant, SampleLimit, SampleUsage};
pub(crate) use common::capability_use::{CapabilityUse, Subject, both};
pub use common::extent::Extent;
pub use common::mount::{Access, Mount, MountOpening};
pub use common::proposal::{Choice, GrantProposal, RequestedCapability};
pub use filesystem::FilesystemGrant;
pub(crate) use filesystem::{mount_for, path_refused, requested_mounts};
pub use flows::{FlowError, FlowPattern, Origin, PrivateOrigins, Recipient, first_blocked};
pub(crate) use flows::{SeenOrigins, check_flow};
pub(crate) use http::grant_for as http_grant_for;
pub use http::{
    AddressClass, HttpGrant, HttpPattern, HttpPatternError, HttpTarget, HttpUrlError, RequestPath, RequestPathError,
};
pub use list::{CAPABILITY_IMPORTS, Capability, Grants, Requests, uses};
pub use scratch::ScratchGrant;
pub use secrets::SecretGrant;
pub(crate) use secrets::{grant_for as secret_grant_for, names_for as secret_names_for};
pub use state::StateGrant;

#[cfg(test)]
mod tests;
