//! Errors of the registry client.

use platform::outbound::GuardedError;

#[derive(Debug, thiserror::Error)]
pub(crate) enum OciError {
    #[error(transparent)]
    Visit(#[from] GuardedError),
    #[error("the registry has no {what}{hint}", hint = if *.signed_in { "" } else { "; a private one needs user and password-file in [sources]" })]
    Missing { what: String, signed_in: bool },
    #[error("the registry answers {status} to the request for {what}")]
    Status { what: String, status: u16 },
    #[error("the registry refuses access: {0}")]
    Unauthorized(String),
    #[error("{what} does not match its digest: expected {expected}, received {found}")]
    Digest { what: String, expected: String, found: String },
    #[error("{what} has {found} bytes, and its descriptor says {expected}")]
    Size { what: String, expected: u64, found: u64 },
    #[error("{what} of {size} bytes is larger than the limit of {limit}")]
    TooLarge { what: String, size: u64, limit: u64 },
    #[error("the manifest is refused: {0}")]
    Manifest(String),
    #[error("the configuration blob is refused: {0}")]
    Config(String),
    #[error("the upload is refused: {0}")]
    Upload(String),
    #[error("the credentials of [sources] cannot be used: {0}")]
    Credentials(String),
}
