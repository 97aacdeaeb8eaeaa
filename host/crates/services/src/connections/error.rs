//! Why connected accounts cannot be used, and why a browser cannot continue.

use super::pages::PageError;
use platform::outbound::ClientBuildError;
use platform::storage::TokenStoreError;
use std::path::PathBuf;

/// The configured connections cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BrokerError {
    #[error(transparent)]
    Tokens(#[from] TokenStoreError),
    #[error(transparent)]
    Outbound(#[from] ClientBuildError),
    #[error("[{table}] client-secret-file {path}: {source}")]
    Secret { table: String, path: PathBuf, source: std::io::Error },
    #[error("the key of connected accounts, {path}: {source}")]
    Key { path: PathBuf, source: std::io::Error },
}

/// Why a browser cannot continue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConnectPageError {
    /// There is no such page, or it has expired.
    Unknown,
    /// The page belongs to another browser or person.
    OtherBrowser,
    /// It is not configured how users log in, so the host cannot know who uses the browser.
    NoLogin,
    /// The provider or its user declined; an OAuth error code.
    Declined(String),
    /// The log has the reason.
    Failed,
}

pub(super) fn log_failure(error: &dyn std::fmt::Display) -> ConnectPageError {
    tracing::error!("an account was not connected: {error}");
    ConnectPageError::Failed
}

impl From<PageError> for ConnectPageError {
    fn from(lost: PageError) -> Self {
        match lost {
            PageError::Unknown => ConnectPageError::Unknown,
            PageError::OtherBrowser => ConnectPageError::OtherBrowser,
        }
    }
}
