//! Why a component cannot be used.

use crate::offer::OfferError;
use crate::package::{Digest, PackageError};
use runtime::abi::LinkError;
use runtime::engine::{CallError, CompileError};
use std::path::PathBuf;
use std::sync::Arc;

#[derive(Debug, thiserror::Error)]
pub enum ComponentError {
    #[error(transparent)]
    Package(#[from] PackageError),
    #[error(transparent)]
    Compile(#[from] CompileError),
    #[error(transparent)]
    Link(#[from] LinkError),
    #[error("asking it what it offers failed: {0}")]
    Describe(CallError),
    #[error("asked twice what it offers, it says two things; what it offers must not depend on time or chance")]
    UnstableOffer,
    #[error("{0}")]
    Shared(Arc<ComponentError>),
    #[error("{0}")]
    NoEngine(String),
    #[error("the host is stopping")]
    Stopped,
    #[error(transparent)]
    Offer(#[from] OfferError),
    #[error(
        "{} is {found} now instead of {wanted}, and the code of the latter is not in the cache; a server with `reload` takes up \
         the new file by itself, another one must be started again",
        path.display()
    )]
    Replaced { path: PathBuf, found: Digest, wanted: Digest },
}
