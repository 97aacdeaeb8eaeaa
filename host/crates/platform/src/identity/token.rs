//! Verifies JWTs: they must be signed by a key of the issuer, meant for this server, and valid now.

use super::error::AuthError;
use super::jwks::JwksCache;
use super::settings::{OAuthSettings, OneOrMany};
use crate::clock::Clock;
use crate::telemetry::is_unsafe;
use jsonwebtoken::Validation;
use policy::Principal;
use serde::Deserialize;
use std::collections::HashSet;
use std::sync::Arc;

/// Allowed difference between the clocks, in seconds.
const LEEWAY: f64 = 30.0;
/// Longest subject, in bytes. It becomes part of names and keys, so this bounds them.
const MAX_SUBJECT: usize = 256;
/// How many names of a token an error repeats, and how many characters of each. Bounds the header of the answer.
const MAX_NAMES: usize = 3;
const MAX_NAME: usize = 100;

pub(super) struct TokenVerifier {
    issuer: String,
    audience: Vec<String>,
    client_ids: Vec<String>,
    scopes: Vec<String>,
    jwks: Arc<JwksCache>,
    clock: Arc<dyn Clock>,
}

/// The claims that are checked. All times are seconds since 1970.
#[derive(Deserialize)]
struct Claims {
    iss: String,
    aud: Option<OneOrMany>,
    /// The client that the token was given to (RFC 9068).
    client_id: Option<String>,
    sub: String,
    exp: f64,
    nbf: Option<f64>,
    /// Scopes, separated by spaces. Some issuers call this claim `scp`.
    scope: Option<OneOrMany>,
    scp: Option<OneOrMany>,
}

impl TokenVerifier {
    pub(super) fn new(oauth: &OAuthSettings, jwks: Arc<JwksCache>, clock: Arc<dyn Clock>) -> Self {
        Self {
            issuer: oauth.issuer.as_str().to_owned(),
            audience: oauth.audience.clone(),
            client_ids: oauth.client_ids.clone(),
            scopes: oauth.required_scopes.clone(),
            jwks,
            clock,
        }
    }

    pub(super) async fn verify(&self, token: &str) -> Result<Principal, AuthError> {
        let invalid = |reason: &'static str| AuthError::Invalid(reason.into());
        let header =
            jsonwebtoken::decode_header(token).map_err(|_| invalid("neither a known key nor a signed token"))?;
        if header.crit.is_some() {
            return Err(invalid("the token has critical extensions that are not known here"));
        }
        let id = header.kid.ok_or(invalid("the token names no key"))?;
        let found = self.jwks.key(&id).await.map_err(|_| AuthError::Unavailable)?;
        let found = found.ok_or(invalid("the token names a key that the issuer does not have"))?;
        // The key determines the algorithm, and the token never does. Otherwise a token could choose `none`, or use a public
        // key as a secret.
        let mut validation = Validation::new(found.algorithm);
        // The claims are checked below, with our own clock.
        (validation.validate_exp, validation.validate_aud) = (false, false);
        validation.required_spec_claims = HashSet::new();
        let decoded = jsonwebtoken::decode::<Claims>(token, &found.key, &validation);
        let claims = decoded.map_err(|_| {
            invalid("the signature is wrong, or one of the claims iss, sub and exp is missing or of another type")
        })?;
        self.check(claims.claims)
    }

    fn check(&self, claims: Claims) -> Result<Principal, AuthError> {
        let invalid = |reason: &'static str| Err(AuthError::Invalid(reason.into()));
        let now = self.clock.unix().as_secs_f64();
        if claims.iss != self.issuer {
            let (came, wanted) = (named([&claims.iss]), named([&self.issuer]));
            return Err(AuthError::Invalid(
                format!("the token is of another issuer: its iss is {came}, and not {wanted}").into(),
            ));
        }
        self.check_audience(&claims)?;
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
            .flat_map(OneOrMany::as_slice)
            .flat_map(|scopes| scopes.split_whitespace())
            .collect();
        if !self.scopes.iter().all(|scope| given.contains(scope.as_str())) {
            return Err(AuthError::Scope);
        }
        // The URL of an issuer contains no `#`, so this is unambiguous.
        Ok(Principal::from_source("oauth", &format!("{}#{}", self.issuer, claims.sub)))
    }

    fn check_audience(&self, claims: &Claims) -> Result<(), AuthError> {
        let (claim, came, wanted) = match (&claims.aud, &claims.client_id) {
            (Some(aud), _) => ("aud", aud.as_slice(), &self.audience),
            (None, Some(client)) if !self.client_ids.is_empty() => {
                ("client_id", std::slice::from_ref(client), &self.client_ids)
            }
            (None, _) => ("aud", &[][..], &self.audience),
        };
        if came.iter().any(|name| wanted.contains(name)) {
            return Ok(());
        }
        let (came, wanted) = (named(came), named(wanted));
        Err(AuthError::Invalid(
            format!("the token is for another server: its {claim} is {came}, and not {wanted}").into(),
        ))
    }
}

/// The names, shortened, in a form that is safe in a header.
fn named<'a>(names: impl IntoIterator<Item = &'a String>) -> String {
    let plain = |c: char| if c.is_ascii_graphic() && c != '"' && c != '\\' { c } else { '?' };
    let mut all = names.into_iter();
    let shown: Vec<String> =
        all.by_ref().take(MAX_NAMES).map(|name| name.chars().take(MAX_NAME).map(plain).collect()).collect();
    match (shown.is_empty(), all.count()) {
        (true, _) => "missing".into(),
        (false, 0) => shown.join(" or "),
        (false, more) => format!("{} or {more} more", shown.join(" or ")),
    }
}
