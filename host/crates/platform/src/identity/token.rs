//! Tokens of the issuer: JWTs, signed by one of its keys, meant for this server and good now.

use super::settings::OAuthSettings;
use super::{Jwks, Refusal};
use crate::clock::Clock;
use crate::telemetry::is_unsafe;
use jsonwebtoken::Validation;
use policy::Principal;
use serde::Deserialize;
use std::collections::HashSet;
use std::sync::Arc;

/// How far clocks may differ, in seconds.
const LEEWAY: f64 = 30.0;
/// The longest subject, in bytes: it becomes part of names and keys.
const MAX_SUBJECT: usize = 256;

/// Checks tokens.
pub(super) struct TokenVerifier {
    issuer: String,
    audience: String,
    scopes: Vec<String>,
    jwks: Jwks,
    clock: Arc<dyn Clock>,
}

/// What we read of a token. All times are seconds since 1970.
#[derive(Deserialize)]
struct Claims {
    iss: String,
    aud: OneOrMany,
    sub: String,
    exp: f64,
    nbf: Option<f64>,
    /// Words separated by spaces; `scp` is how some issuers spell it.
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
    pub(super) fn new(oauth: &OAuthSettings, jwks: Jwks, clock: Arc<dyn Clock>) -> Self {
        Self {
            issuer: oauth.issuer.as_str().to_owned(),
            audience: oauth.audience.as_str().to_owned(),
            scopes: oauth.required_scopes.clone(),
            jwks,
            clock,
        }
    }

    /// Whose token this is.
    pub(super) async fn verify(&self, token: &str) -> Result<Principal, Refusal> {
        let invalid = Refusal::Invalid;
        let header =
            jsonwebtoken::decode_header(token).map_err(|_| invalid("neither a known key nor a signed token"))?;
        if header.crit.is_some() {
            return Err(invalid("the token has critical extensions that are not known here"));
        }
        let id = header.kid.ok_or(invalid("the token names no key"))?;
        let found = self.jwks.key(&id).await.map_err(|_| Refusal::Unavailable)?;
        let found = found.ok_or(invalid("the token names a key that the issuer does not have"))?;
        // The key says which algorithm is right, never the token: else `none`, or a public key taken for a secret.
        let mut validation = Validation::new(found.algorithm);
        // Claims are checked below, on our clock.
        (validation.validate_exp, validation.validate_aud) = (false, false);
        validation.required_spec_claims = HashSet::new();
        let decoded = jsonwebtoken::decode::<Claims>(token, &found.key, &validation);
        let claims = decoded.map_err(|_| invalid("the signature is wrong or a claim is missing"))?.claims;
        self.check(claims)
    }

    fn check(&self, claims: Claims) -> Result<Principal, Refusal> {
        let invalid = |reason| Err(Refusal::Invalid(reason));
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
            return Err(Refusal::Scope);
        }
        // An issuer has no `#` in its address, so this can be taken apart in one way only.
        Ok(Principal::known("oauth", &format!("{}#{}", self.issuer, claims.sub)))
    }
}
