//! The error for configurations that cannot be used.

use plugins::install::LockfileError;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("cannot read the configuration {path}: {error}{hint}")]
    Read { path: PathBuf, error: std::io::Error, hint: &'static str },
    #[error("{path}: {message}")]
    Parse { path: PathBuf, message: String },
    #[error("{path}: [{table}] {message}")]
    Table { path: PathBuf, table: String, message: String },
    #[error(transparent)]
    Lockfile(#[from] LockfileError),
    #[error("{0}")]
    Environment(String),
}
