//! The issuer's public keys: fetched when first needed, kept, and fetched again when they are old or a token names one
//! that is not there. A client that makes up key ids causes one fetch every [`AGAIN`] at most.

use super::settings::OAuthSettings;
use crate::clock::Clock;
use crate::outbound::{Ask, Endpoint, Method, Outbound};
use crate::telemetry::printable;
use async_trait::async_trait;
use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyAlgorithm, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey};
use serde::Deserialize;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;
use url::Url;

/// Between two fetches.
const AGAIN: Duration = Duration::from_secs(30);
/// After this the keys are asked for again: one that the issuer has withdrawn must not live for ever.
const FRESH: Duration = Duration::from_secs(60 * 60);
/// After this they are not believed any more, even when the issuer cannot be reached.
const STALE: Duration = Duration::from_secs(24 * 60 * 60);
/// One fetch; requests with a token wait for it.
const TIMEOUT: Duration = Duration::from_secs(5);
/// A document of the issuer. Real ones have some kilobytes.
const MAX_DOCUMENT: usize = 256 << 10;
/// Keys that are kept.
const MAX_KEYS: usize = 64;
/// A modulus below 2048 bits can be factored by those who care enough.
const MIN_RSA_BYTES: usize = 256;

/// A key and the only algorithm it may be used with.
#[derive(Clone)]
pub(super) struct IssuerKey {
    pub(super) algorithm: Algorithm,
    pub(super) key: DecodingKey,
}

/// Gets a document. Implemented by [`Outbound`].
#[async_trait]
pub(super) trait Documents: Send + Sync {
    async fn get(&self, url: Url) -> Result<Vec<u8>, String>;
}

#[async_trait]
impl Documents for Outbound {
    async fn get(&self, url: Url) -> Result<Vec<u8>, String> {
        let (headers, body) = Default::default();
        let ask = Ask { method: Method::GET, url, headers, body, timeout: TIMEOUT, max_body: MAX_DOCUMENT };
        let told = self.ask(ask).await.map_err(|error| error.to_string())?;
        if told.status == 200 { Ok(told.body) } else { Err(format!("status {}", told.status)) }
    }
}

/// The keys could not be had, which is not the client's fault.
pub(super) struct NoKeys;

/// The keys of one issuer.
pub(super) struct Jwks {
    issuer: Endpoint,
    address: Option<Endpoint>,
    documents: Arc<dyn Documents>,
    clock: Arc<dyn Clock>,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    keys: HashMap<String, IssuerKey>,
    fetched: Option<Instant>,
    tried: Option<Instant>,
}

#[derive(Deserialize)]
struct IssuerMetadata {
    issuer: String,
    jwks_uri: String,
}

#[derive(Deserialize)]
struct Document {
    keys: Vec<serde_json::Value>,
}

impl Jwks {
    pub(super) fn new(oauth: &OAuthSettings, documents: Arc<dyn Documents>, clock: Arc<dyn Clock>) -> Self {
        let (issuer, address) = (oauth.issuer.clone(), oauth.jwks.clone());
        Self { issuer, address, documents, clock, kept: Mutex::default() }
    }

    /// The key of this id, if the issuer has one.
    pub(super) async fn key(&self, id: &str) -> Result<Option<IssuerKey>, NoKeys> {
        // Held while fetching: everybody else waits for the same answer instead of asking too.
        let mut kept = self.kept.lock().await;
        let now = self.clock.now();
        let older = |since: Option<Instant>, age| since.is_none_or(|since| now.saturating_duration_since(since) >= age);
        let wanted = !kept.keys.contains_key(id) || older(kept.fetched, FRESH);
        if wanted && older(kept.tried, AGAIN) {
            kept.tried = Some(now);
            match self.fetch().await {
                Ok(keys) => (kept.keys, kept.fetched) = (keys, Some(now)),
                Err(error) => {
                    tracing::warn!(issuer = %self.issuer, "the issuer's keys cannot be had: {}", printable(&error));
                }
            }
        }
        if older(kept.fetched, STALE) {
            return Err(NoKeys);
        }
        Ok(kept.keys.get(id).cloned())
    }

    async fn fetch(&self) -> Result<HashMap<String, IssuerKey>, String> {
        let address = match &self.address {
            Some(address) => address.clone(),
            None => self.discover().await?,
        };
        let bytes = self.documents.get(address.url().clone()).await.map_err(|error| format!("{address}: {error}"))?;
        let document: Document = serde_json::from_slice(&bytes).map_err(|error| format!("{address}: {error}"))?;
        Ok(document.keys.into_iter().filter_map(usable).take(MAX_KEYS).collect())
    }

    /// The address of the keys, by the issuer's metadata: RFC 8414, or else OpenID Connect.
    async fn discover(&self) -> Result<Endpoint, String> {
        let path = self.issuer.url().path().trim_end_matches('/');
        let at = |path: String| {
            let mut url = self.issuer.url().clone();
            url.set_query(None);
            url.set_path(&path);
            url
        };
        let places = [
            at(format!("/.well-known/oauth-authorization-server{path}")),
            at(format!("{path}/.well-known/openid-configuration")),
        ];
        let mut errors = Vec::new();
        for place in places {
            match self.documents.get(place.clone()).await.and_then(|bytes| self.keys_address(&bytes)) {
                Ok(address) => return Ok(address),
                Err(error) => errors.push(format!("{place}: {error}")),
            }
        }
        Err(errors.join("; "))
    }

    fn keys_address(&self, metadata: &[u8]) -> Result<Endpoint, String> {
        let metadata: IssuerMetadata = serde_json::from_slice(metadata).map_err(|error| error.to_string())?;
        if metadata.issuer != self.issuer.as_str() {
            return Err(format!("it is the metadata of `{}`, another issuer", metadata.issuer));
        }
        let address = Endpoint::new(&metadata.jwks_uri).map_err(|error| error.to_string())?;
        if address.is_local() && !self.issuer.is_local() && address.url().scheme() == "http" {
            return Err(format!("`{address}` is on this machine, the issuer is not"));
        }
        Ok(address)
    }
}

/// A key that we can and may use: public, for signatures, of one of three kinds. Others are passed over, since an issuer
/// may have keys for other purposes.
fn usable(value: serde_json::Value) -> Option<(String, IssuerKey)> {
    let jwk: Jwk = serde_json::from_value(value).ok()?;
    let id = jwk.common.key_id.clone()?;
    if jwk.common.public_key_use.as_ref().is_some_and(|usage| *usage != PublicKeyUse::Signature) {
        return None;
    }
    let (algorithm, name) = match &jwk.algorithm {
        AlgorithmParameters::RSA(_) => (Algorithm::RS256, KeyAlgorithm::RS256),
        AlgorithmParameters::EllipticCurve(key) if key.curve == EllipticCurve::P256 => {
            (Algorithm::ES256, KeyAlgorithm::ES256)
        }
        AlgorithmParameters::OctetKeyPair(key) if key.curve == EllipticCurve::Ed25519 => {
            (Algorithm::EdDSA, KeyAlgorithm::EdDSA)
        }
        _ => return None,
    };
    if jwk.common.key_algorithm.is_some_and(|named| named != name) {
        return None;
    }
    let key = DecodingKey::from_jwk(&jwk).ok()?;
    if let jsonwebtoken::DecodingKeyKind::RsaModulusExponent { n, .. } = key.kind()
        && n.iter().skip_while(|byte| **byte == 0).count() < MIN_RSA_BYTES
    {
        return None;
    }
    Some((id, IssuerKey { algorithm, key }))
}
