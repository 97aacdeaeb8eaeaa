//! Why a plugin could not be loaded.

use crate::offer::OfferError;
use crate::package::{Digest, PackageError};
use crate::scratch::ScratchError;
use runtime::engine::{CallError, CompileError};
use runtime::imports::wasi;
use std::path::PathBuf;
use std::sync::Arc;

#[derive(Debug, thiserror::Error)]
#[error("[{table}] {kind}")]
pub struct LoadError {
    /// The plugin's configuration table.
    pub table: String,
    pub kind: LoadErrorKind,
}

#[derive(Debug, thiserror::Error)]
pub enum LoadErrorKind {
    #[error(transparent)]
    Package(#[from] PackageError),
    #[error(transparent)]
    Compile(#[from] CompileError),
    #[error("it needs an import that this host does not offer: {0}")]
    MissingImport(String),
    #[error("asking it what it offers failed: {0}")]
    Describe(CallError),
    #[error("asked twice what it offers, it says two things; what it offers must not depend on time or chance")]
    UnstableOffer,
    #[error("{0}")]
    Shared(Arc<LoadErrorKind>),
    #[error(transparent)]
    Offer(#[from] OfferError),
    #[error(transparent)]
    Mount(#[from] wasi::MountError),
    #[error(transparent)]
    Scratch(#[from] ScratchError),
    #[error(
        "{} is {found}, but the lock file names {pinned}: it was changed without being asked for. `portcullis plugin update {name}` brings what is published now, `portcullis plugin remove {name}` forgets it",
        path.display()
    )]
    InstalledFileChanged { path: PathBuf, found: Digest, pinned: Digest, name: String },
    #[error(
        "{} is {found}, but `digest` names {pinned}: only those bytes are loaded. If the change is yours, write the new digest",
        path.display()
    )]
    DigestMismatch { path: PathBuf, found: Digest, pinned: Digest },
    #[error(
        "what it says of its tools is not what you agreed to (it is {found}, agreed was {agreed}); remove it, or install it again and read what it says"
    )]
    DefinitionsChanged { found: Digest, agreed: Digest },
    #[error("{digest} is withdrawn, {why}: it is not loaded. `portcullis plugin update` looks for another version")]
    Withdrawn { digest: Digest, why: String },
}
