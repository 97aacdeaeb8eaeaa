//! Checks the `Authorization` header of a request.

use super::error::AuthError;
use super::jwks::JwksCache;
use super::keys::{ApiKeys, KeysError};
use super::protected_resource::ProtectedResource;
use super::settings::AuthSettings;
use super::token::TokenVerifier;
use crate::clock::Clock;
use crate::outbound::{ClientBuildError, OutboundClient};
use policy::Principal;
use std::sync::Arc;

/// The longest accepted credential, in bytes.
const MAX_CREDENTIAL: usize = 8 << 10;

/// Authentication cannot be set up as configured.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    #[error(transparent)]
    Keys(#[from] KeysError),
    #[error(transparent)]
    Outbound(#[from] ClientBuildError),
}

pub struct Authenticator {
    keys: ApiKeys,
    tokens: Option<TokenVerifier>,
    resource: Option<ProtectedResource>,
}

impl Authenticator {
    /// The configured authenticator; `None` if no authentication is configured.
    pub fn new(settings: &AuthSettings, clock: Arc<dyn Clock>) -> Result<Option<Self>, IdentityError> {
        if settings.keys.is_none() && settings.oauth.is_none() {
            return Ok(None);
        }
        let keys = settings.keys.as_deref().map_or_else(|| Ok(ApiKeys::default()), ApiKeys::read)?;
        let tokens = match &settings.oauth {
            None => None,
            Some(oauth) => {
                let jwks = JwksCache::new(oauth, Arc::new(OutboundClient::new()?), clock.clone());
                Some(TokenVerifier::new(oauth, jwks, clock))
            }
        };
        let resource = settings.oauth.as_ref().map(ProtectedResource::new);
        Ok(Some(Self { keys, tokens, resource }))
    }

    /// The metadata for OAuth clients; `None` if only API keys are accepted.
    pub fn resource(&self) -> Option<&ProtectedResource> {
        self.resource.as_ref()
    }

    /// The principal of an `Authorization` header.
    pub async fn check(&self, authorization: Option<&str>) -> Result<Principal, AuthError> {
        let header = authorization.ok_or(AuthError::Missing)?;
        let credential = match header.split_once(' ') {
            Some((scheme, credential)) if scheme.eq_ignore_ascii_case("bearer") => credential.trim(),
            _ => return Err(AuthError::Invalid("the scheme must be Bearer".into())),
        };
        if credential.is_empty() || credential.len() > MAX_CREDENTIAL {
            return Err(AuthError::Invalid("the credential is empty or too long".into()));
        }
        if let Some(principal) = self.keys.owner(credential) {
            return Ok(principal);
        }
        match &self.tokens {
            Some(tokens) => tokens.verify(credential).await,
            None => Err(AuthError::Invalid("unknown key".into())),
        }
    }
}

#[cfg(test)]
mod tests;
