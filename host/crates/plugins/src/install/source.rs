//! The trait of plugin sources, and what fetching returns.

use crate::package::Claims;
use async_trait::async_trait;
use policy::Digest;

/// Fetched bytes: complete, within the size limit and with the expected digest, if there was one. Not inspected yet.
pub struct FetchedComponent {
    pub bytes: Vec<u8>,
    pub digest: Digest,
    /// The exact reference. Where the source supports it, it refers to these bytes only.
    pub resolved: String,
    /// The signer whose signature was verified. None if the source's policy requires no signature and none was found.
    pub signer: Option<Signer>,
    /// Metadata where the component is published. Unverified.
    pub claims: Claims,
}

/// The signer of a verified signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Signer {
    /// A minisign public key.
    Minisign(String),
    /// The digest of a cosign public key.
    Cosign(Digest),
    /// The identity in a short-lived certificate.
    Identity {
        /// The URL of the OIDC issuer.
        issuer: String,
        /// Such as the URL of a workflow or an email address.
        subject: String,
    },
}

impl std::fmt::Display for Signer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Minisign(key) => write!(f, "minisign:{key}"),
            Self::Cosign(digest) => write!(f, "cosign:{digest}"),
            Self::Identity { issuer, subject } => write!(f, "sigstore:{subject} ({issuer})"),
        }
    }
}

/// Why a plugin could not be fetched.
#[derive(Debug, thiserror::Error)]
#[error("{reference}: {reason}")]
pub struct FetchError {
    pub reference: String,
    /// Says what was wrong and what to do.
    pub reason: String,
}

/// The newest version of a plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Newest {
    /// Where it is: the same reference, or one with a higher version.
    pub reference: String,
    /// The digest of the component.
    pub digest: Digest,
    /// Why there may be newer ones that were not found.
    pub note: Option<String>,
}

/// A place where plugins are published.
#[async_trait]
pub trait PluginSource: Send + Sync {
    /// Fetches the component that a reference refers to now, and verifies it under the source's policy.
    async fn fetch(&self, reference: &str) -> Result<FetchedComponent, FetchError>;
    /// The newest version for whoever has installed this reference, as cheaply as the source allows.
    async fn newest(&self, reference: &str) -> Result<Newest, FetchError>;
    /// What a reference refers to now, whether or not there are higher versions.
    async fn exactly(&self, reference: &str) -> Result<Newest, FetchError>;
}
