//! What is learned of a component by compiling it and asking it.

use super::error::ComponentError;
use crate::package::{Digest, Inspection};
use runtime::abi::LinkedComponent;
use runtime::imports::Offer;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Identifies the running program: its version, and the stamp of its file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostBuild(pub String);

/// What a component states about itself, after the checks. Cached, so a warm start runs no guest code and repeats no check.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Description {
    /// The program that checked it. Another program may make other checks, or offer other imports.
    pub(super) checked_by: HostBuild,
    pub(crate) inspection: Inspection,
    pub(crate) offer: Offer,
    /// Digest of the offer.
    pub(crate) definitions: Digest,
}

/// A component and its description, shared by concurrent callers.
pub(super) type CompileResult = Result<(Arc<LinkedComponent>, Arc<Description>), Arc<ComponentError>>;
