//! What is learned of a component by compiling it and asking it.

use super::error::LoadErrorKind;
use crate::package::Inspection;
use runtime::engine::Component;
use runtime::imports::Offer;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What a component says of itself: cached, so that a warm start runs no guest code.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Description {
    pub(super) inspection: Inspection,
    pub(super) offer: Offer,
}

/// A component and its description, shared by concurrent callers.
pub(super) type CompileResult = Result<(Component, Arc<Description>), Arc<LoadErrorKind>>;
