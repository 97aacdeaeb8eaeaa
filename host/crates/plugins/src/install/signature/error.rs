//! The error for components whose signatures are missing or invalid.

#[derive(Debug, thiserror::Error)]
pub enum SignatureError {
    #[error(
        "it is not signed, and [sources] demands a signature for this source; nothing was fetched from it into the store"
    )]
    Missing,
    #[error("none of its signatures is good: {0}")]
    Bad(String),
    #[error("the trusted-root of [sources] cannot be used: {0}")]
    Root(String),
    #[error("a key of cosign-keys in [sources] cannot be used: {0}")]
    Key(String),
}
