//! What comes of looking for a plugin where it is published.

use crate::package::Claims;
use async_trait::async_trait;
use policy::Digest;

/// Bytes from outside: complete, not larger than allowed and of the digest that was promised, where one was. Nobody has
/// looked into them yet.
pub struct Found {
    /// The component.
    pub bytes: Vec<u8>,
    /// Of those bytes.
    pub digest: Digest,
    /// Where they are, exactly: a reference that can only ever mean these bytes where the source has such references.
    pub resolved: String,
    /// Who vouches for them, by the source's policy; none where it asks for nobody.
    pub signer: Option<Signer>,
    /// What is claimed of them where they are, beside what they say themselves. Nobody has checked it.
    pub claims: Claims,
}

/// Who vouches for some bytes, by a signature that was verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Signer {
    /// The holder of a minisign key, by its identifier.
    Key(String),
    /// The holder of a key of cosign's, by the digest of the public key.
    PublicKey(Digest),
    /// Somebody to whom an issuer gave a short-lived certificate.
    Identity {
        /// Such as an OIDC issuer's URL.
        issuer: String,
        /// Such as a workflow's URL or an address.
        subject: String,
    },
}

impl std::fmt::Display for Signer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Key(id) => write!(f, "minisign:{id}"),
            Self::PublicKey(digest) => write!(f, "cosign:{digest}"),
            Self::Identity { issuer, subject } => write!(f, "sigstore:{subject} ({issuer})"),
        }
    }
}

/// Why nothing was found. The sentence says what was wrong, where, and what to do.
#[derive(Debug, thiserror::Error)]
#[error("{reference}: {reason}")]
pub struct FetchError {
    /// What was looked for.
    pub reference: String,
    /// A sentence.
    pub reason: String,
}

/// Where plugins are published. Implemented for files, HTTPS and OCI registries.
#[async_trait]
pub trait Source: Send + Sync {
    /// Brings the component that a reference means now, checked and vouched for as its source's policy demands.
    async fn fetch(&self, reference: &str) -> Result<Found, FetchError>;
    /// The digest of what a reference means now, as cheaply as the source can say it.
    async fn newest(&self, reference: &str) -> Result<Digest, FetchError>;
}
