//! Why a registry's answer is not taken.

use platform::outbound::VisitError;

/// Why a registry's answer is not taken, or a push failed.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's sentence says what its fields are")]
pub(crate) enum OciError {
    #[error(transparent)]
    Visit(#[from] VisitError),
    #[error("the registry has no {what}{hint}", hint = if *.signed_in { "" } else { "; a private one needs user and password-file in [sources]" })]
    Missing { what: String, signed_in: bool },
    #[error("the registry answers {status} to the request for {what}")]
    Status { what: String, status: u16 },
    #[error("the registry does not let us in: {0}")]
    Unauthorized(String),
    #[error("{what} is not what its digest says: {expected} was promised, {found} came")]
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
