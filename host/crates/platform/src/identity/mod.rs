//! Who is asking: the holder of an API key, a subject of an OAuth issuer, or nobody in particular.
//!
//! Knows nothing of HTTP servers: an `Authorization` header comes in, a [`Principal`] or a [`Refusal`] comes out. There is
//! no lock-out after failures: keys have 256 random bits and signatures cannot be guessed, and a lock-out by address would
//! let one client behind a proxy shut out all the others.

mod jwks;
mod keys;
mod resource;
mod settings;
mod token;

pub use keys::{KeysError, NewKey};
pub use resource::ProtectedResource;
pub use settings::{AuthSettings, OAuthSettings};

use crate::clock::Clock;
use crate::outbound::{Outbound, OutboundError};
use jwks::Jwks;
use keys::ApiKeys;
use policy::Principal;
use std::sync::Arc;
use token::TokenVerifier;

/// The longest credential that is looked at.
const MAX_CREDENTIAL: usize = 8 << 10;

/// Identity cannot be checked as configured.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's sentence is that of the error inside")]
pub enum IdentityError {
    #[error(transparent)]
    Keys(#[from] KeysError),
    #[error(transparent)]
    Outbound(#[from] OutboundError),
}

/// Why a request is not served. The words are ours alone, fit for a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// No credential.
    Missing,
    /// A credential that is not good; the reason.
    Invalid(&'static str),
    /// A good one that does not cover this server; all the scopes it needs.
    Scope,
    /// Nobody can say at the moment: the issuer's keys cannot be had.
    Unavailable,
}

/// Checks whoever comes.
pub struct Authenticator {
    keys: ApiKeys,
    tokens: Option<TokenVerifier>,
    resource: Option<ProtectedResource>,
}

impl Authenticator {
    /// As configured; none when everybody is let in unasked.
    pub fn new(settings: &AuthSettings, clock: Arc<dyn Clock>) -> Result<Option<Self>, IdentityError> {
        if settings.keys.is_none() && settings.oauth.is_none() {
            return Ok(None);
        }
        let keys = settings.keys.as_deref().map_or_else(|| Ok(ApiKeys::default()), ApiKeys::read)?;
        let tokens = match &settings.oauth {
            None => None,
            Some(oauth) => {
                let jwks = Jwks::new(oauth, Arc::new(Outbound::new()?), clock.clone());
                Some(TokenVerifier::new(oauth, jwks, clock))
            }
        };
        let resource = settings.oauth.as_ref().map(ProtectedResource::new);
        Ok(Some(Self { keys, tokens, resource }))
    }

    /// What is told to clients about getting a token; none when only API keys are good.
    pub fn resource(&self) -> Option<&ProtectedResource> {
        self.resource.as_ref()
    }

    /// Who sends this `Authorization` header.
    pub async fn check(&self, authorization: Option<&str>) -> Result<Principal, Refusal> {
        let header = authorization.ok_or(Refusal::Missing)?;
        let credential = match header.split_once(' ') {
            Some((scheme, credential)) if scheme.eq_ignore_ascii_case("bearer") => credential.trim(),
            _ => return Err(Refusal::Invalid("the scheme must be Bearer")),
        };
        if credential.is_empty() || credential.len() > MAX_CREDENTIAL {
            return Err(Refusal::Invalid("the credential is empty or too long"));
        }
        if let Some(principal) = self.keys.owner(credential) {
            return Ok(principal);
        }
        match &self.tokens {
            Some(tokens) => tokens.verify(credential).await,
            None => Err(Refusal::Invalid("unknown key")),
        }
    }
}

#[cfg(test)]
mod tests;
