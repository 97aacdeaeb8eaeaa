//! The error for configurations that cannot be used.

use plugins::install::LockfileError;
use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("cannot read the configuration {path}: {error}")]
    Read { path: PathBuf, error: io::Error },
    #[error("there is no {path}: `portcullis init` writes a small one, and --config names another")]
    Missing { path: PathBuf },
    #[error("{path}: {message}")]
    Parse { path: PathBuf, message: String },
    #[error("{path}: [{table}] {message}")]
    Table { path: PathBuf, table: String, message: String },
    #[error(transparent)]
    Lockfile(#[from] LockfileError),
    #[error("{0}")]
    Environment(String),
}

impl ConfigError {
    pub(super) fn reading(path: &Path, error: io::Error) -> Self {
        // The path is absolute, since the reader may not know from which folder the host was started.
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        match error.kind() {
            io::ErrorKind::NotFound => Self::Missing { path },
            _ => Self::Read { path, error },
        }
    }
}
