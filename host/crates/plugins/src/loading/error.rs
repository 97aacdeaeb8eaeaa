//! Why a plugin could not be loaded.

use crate::components::ComponentError;
use crate::package::Digest;
use crate::scratch::ScratchError;
use runtime::imports::wasi;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
#[error("[{table}] {kind}")]
pub struct LoadError {
    /// The plugin's configuration table.
    pub table: String,
    pub kind: Box<LoadErrorKind>,
}

impl LoadError {
    pub(super) fn new(table: String, kind: impl Into<LoadErrorKind>) -> Self {
        Self { table, kind: Box::new(kind.into()) }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum LoadErrorKind {
    #[error(transparent)]
    Component(#[from] ComponentError),
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
    /// The text is a sentence.
    #[error("{0}")]
    ArgumentKeys(String),
}
