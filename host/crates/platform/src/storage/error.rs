//! Errors of the stores.

use rusqlite::ErrorCode;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, thiserror::Error)]
pub enum StorageError {
    #[error(
        "the state folder {path} cannot be used: {problem}; set PORTCULLIS_STATE or server.state to a folder of your own"
    )]
    Folder { path: PathBuf, problem: String },
    #[error(
        "{path} is in use by another portcullis: stop it, or give this one a state folder of its own (PORTCULLIS_STATE or server.state)"
    )]
    InUse { path: PathBuf },
    #[error(
        "{path} cannot be used: {problem}; `portcullis storage check` says more, and a copy of it can take its place"
    )]
    Broken { path: PathBuf, problem: String },
    #[error("{path} was removed or replaced while it was in use: stop all that use it, put it back, and start again")]
    Removed { path: PathBuf },
    #[error("{path} cannot be read: {problem}")]
    Unreadable { path: PathBuf, problem: String },
    #[error("{from} cannot be copied to {to}: {problem}")]
    Copy { from: PathBuf, to: PathBuf, problem: String },
    #[error(
        "{path} was written by a newer portcullis (format {found}, this one knows {known}): run that one, or set another state folder"
    )]
    Newer { path: PathBuf, found: i64, known: i64 },
    #[error("there is no room for the state: {0}")]
    Full(String),
    #[error("{path} cannot be opened, since there is no room on its disk: make room, and start again; nothing is lost")]
    NoRoom { path: PathBuf },
    #[error("the state cannot be kept: {0}")]
    Sql(String),
    #[error("the state is closed")]
    Closed,
}

impl StorageError {
    /// The error for a file that cannot be opened, or that cannot be written to when it is opened.
    pub(super) fn opening(path: &Path, error: &rusqlite::Error) -> Self {
        let path = path.to_owned();
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::InUse { path },
            Some(ErrorCode::DiskFull) => Self::NoRoom { path },
            _ => Self::Broken { path, problem: error.to_string() },
        }
    }
}

impl From<rusqlite::Error> for StorageError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::Full(error.to_string()),
            _ => Self::Sql(error.to_string()),
        }
    }
}
