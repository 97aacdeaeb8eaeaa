//! A small client for OCI registries. It is our own because the answers of a registry decide which code runs here.
//!
//! A tag is resolved once; everything after that goes by digest. Sizes and digests are checked here, and credentials go
//! to the registry and to the hosts that the operator names.

mod artifact;
mod challenge;
mod error;
mod manifest;
mod pull;
mod push;
mod referrers;
mod repository;
mod tags;

pub(super) use artifact::Artifact;
pub(super) use pull::{latest_digest, pull};
pub(super) use push::push;
pub(super) use tags::tags;
