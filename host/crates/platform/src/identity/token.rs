//! Verifies JWTs: signed by a key of the issuer, meant for this server, and valid now.

use super::error::AuthError;
use super::jwks::JwksCache;
use super::settings::OAuthSettings;
use crate::clock::Clock;
use crate::telemetry::is_unsafe;
use jsonwebtoken::Validation;
use policy::Principal;
use serde::Deserialize;
use std::collections::HashSet;
use std::sync::Arc;

/// Allowed clock difference, in seconds.
const LEEWAY: f64 = 30.0;
/// Longest subject, in bytes: it becomes part of names and keys.
const MAX_SUBJECT: usize = 256;

pub(super) struct TokenVerifier {
    issuer: String,
    audience: String,
    scopes: Vec<String>,
    jwks: Arc<JwksCache>,
    clock: Arc<dyn Clock>,
}

/// The claims that are checked. All times are seconds since 1970.
#[derive(Deserialize)]
struct Claims {
    iss: String,
    aud: OneOrMany,
    sub: String,
    exp: f64,
    nbf: Option<f64>,
    /// Scopes, separated by spaces. Some issuers call it `scp`.
    scope: Option<OneOrMany>,
    scp: Option<OneOrMany>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl OneOrMany {
    fn iter(&self) -> impl Iterator<Item = &str> {
        let all = match self {
            OneOrMany::One(one) => std::slice::from_ref(one),
            OneOrMany::Many(many) => many,
        };
        all.iter().map(String::as_str)
    }
}

impl TokenVerifier {
    pub(super) fn new(oauth: &OAuthSettings, jwks: Arc<JwksCache>, clock: Arc<dyn Clock>) -> Self {
        Self {
            issuer: oauth.issuer.as_str().to_owned(),
            audience: oauth.audience.as_str().to_owned(),
            scopes: oauth.required_scopes.clone(),
            jwks,
            clock,
        }
    }

    pub(super) async fn verify(&self, token: &str) -> Result<Principal, AuthError> {
        let invalid = AuthError::Invalid;
        let header =
            jsonwebtoken::decode_header(token).map_err(|_| invalid("neither a known key nor a signed token"))?;
        if header.crit.is_some() {
            return Err(invalid("the token has critical extensions that are not known here"));
        }
        let id = header.kid.ok_or(invalid("the token names no key"))?;
        let found = self.jwks.key(&id).await.map_err(|_| AuthError::Unavailable)?;
        let found = found.ok_or(invalid("the token names a key that the issuer does not have"))?;
        // The key determines the algorithm, never the token: else a token could choose `none`, or use a public key as secret.
        let mut validation = Validation::new(found.algorithm);
        // Claims are checked below, on our clock.
        (validation.validate_exp, validation.validate_aud) = (false, false);
        validation.required_spec_claims = HashSet::new();
        let decoded = jsonwebtoken::decode::<Claims>(token, &found.key, &validation);
        let claims = decoded.map_err(|_| invalid("the signature is wrong or a claim is missing"))?.claims;
        self.check(claims)
    }

    fn check(&self, claims: Claims) -> Result<Principal, AuthError> {
        let invalid = |reason| Err(AuthError::Invalid(reason));
        let now = self.clock.unix().as_secs_f64();
        if claims.iss != self.issuer {
            return invalid("the token is of another issuer");
        }
        if !claims.aud.iter().any(|audience| audience == self.audience) {
            return invalid("the token is for another server");
        }
        if claims.exp + LEEWAY <= now {
            return invalid("the token has expired");
        }
        if claims.nbf.is_some_and(|from| from - LEEWAY > now) {
            return invalid("the token is not valid yet");
        }
        if claims.sub.is_empty() || claims.sub.len() > MAX_SUBJECT || claims.sub.chars().any(is_unsafe) {
            return invalid("the token's subject is unusable");
        }
        let given: HashSet<&str> = [&claims.scope, &claims.scp]
            .into_iter()
            .flatten()
            .flat_map(OneOrMany::iter)
            .flat_map(str::split_whitespace)
            .collect();
        if !self.scopes.iter().all(|scope| given.contains(scope.as_str())) {
            return Err(AuthError::Scope);
        }
        // An issuer has no `#` in its URL, so this is unambiguous.
        Ok(Principal::from_source("oauth", &format!("{}#{}", self.issuer, claims.sub)))
    }
}
