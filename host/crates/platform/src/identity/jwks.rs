//! The issuer's public keys: fetched when first needed, cached, and fetched again when they are old or when a token names an
//! unknown key. A client that invents key ids causes at most one fetch per [`MIN_INTERVAL`], and clients whose keys are known
//! do not wait for it.

use super::settings::OAuthSettings;
use crate::clock::Clock;
use crate::outbound::{Endpoint, Method, OutboundClient, OutboundRequest};
use crate::sync::Mutex;
use crate::telemetry::printable;
use async_trait::async_trait;
use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared};
use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyAlgorithm, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey};
use serde::Deserialize;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::AbortHandle;
use url::Url;

/// Minimum time between two fetches.
const MIN_INTERVAL: Duration = Duration::from_secs(30);
/// After this time the keys are fetched again, so that a revoked key does not stay valid.
const REFRESH_AFTER: Duration = Duration::from_secs(60 * 60);
/// After this time cached keys are not used any more, even if the issuer cannot be reached.
const EXPIRE_AFTER: Duration = Duration::from_secs(24 * 60 * 60);
/// Timeout of one fetch. Requests wait for the fetch if their token names an unknown key.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum size of a document. Real ones have a few kilobytes.
const MAX_DOCUMENT: usize = 256 << 10;
/// Maximum number of cached keys.
const MAX_KEYS: usize = 64;
/// Minimum size of an RSA modulus. With fewer than 2048 bits it could be factored.
const MIN_RSA_BYTES: usize = 256;

/// A key, and the only algorithm that it may be used with.
#[derive(Clone)]
pub(super) struct IssuerKey {
    pub(super) algorithm: Algorithm,
    pub(super) key: DecodingKey,
}

/// Fetches a document. Implemented by [`OutboundClient`].
#[async_trait]
pub(super) trait DocumentFetcher: Send + Sync {
    async fn get(&self, url: Url) -> Result<Vec<u8>, String>;
}

#[async_trait]
impl DocumentFetcher for OutboundClient {
    async fn get(&self, url: Url) -> Result<Vec<u8>, String> {
        let (headers, body) = Default::default();
        let request =
            OutboundRequest { method: Method::GET, url, headers, body, timeout: TIMEOUT, max_body: MAX_DOCUMENT };
        let response = self.ask(request).await.map_err(|error| error.to_string())?;
        if response.status == 200 { Ok(response.body) } else { Err(format!("status {}", response.status)) }
    }
}

/// The keys could not be fetched, for which the client is not to blame.
pub(super) struct KeysUnavailable;

pub(super) struct JwksCache {
    issuer: Issuer,
    clock: Arc<dyn Clock>,
    cached: Mutex<Arc<CachedKeys>>,
    last: Mutex<Option<Fetch>>,
}

/// A fetch of the keys, which continues even if nobody waits for it.
struct Fetch {
    began: Instant,
    task: AbortHandle,
    done: Shared<BoxFuture<'static, ()>>,
}

struct Issuer {
    name: Endpoint,
    address: Option<Endpoint>,
    documents: Arc<dyn DocumentFetcher>,
}

#[derive(Default)]
struct CachedKeys {
    keys: HashMap<String, IssuerKey>,
    fetched: Option<Instant>,
}

#[derive(Deserialize)]
struct IssuerMetadata {
    issuer: String,
    jwks_uri: String,
}

#[derive(Deserialize)]
struct KeySet {
    keys: Vec<serde_json::Value>,
}

impl JwksCache {
    pub(super) fn new(oauth: &OAuthSettings, documents: Arc<dyn DocumentFetcher>, clock: Arc<dyn Clock>) -> Arc<Self> {
        let issuer = Issuer { name: oauth.issuer.clone(), address: oauth.jwks.clone(), documents };
        Arc::new(Self { issuer, clock, cached: Mutex::default(), last: Mutex::default() })
    }

    /// The key with this id, if the issuer has one.
    pub(super) async fn key(self: &Arc<Self>, id: &str) -> Result<Option<IssuerKey>, KeysUnavailable> {
        if let Some(known) = self.known(id) {
            if self.is_older(self.fetched(), REFRESH_AFTER) {
                self.refresh();
            }
            return Ok(Some(known));
        }
        if let Some(done) = self.refresh() {
            done.await;
        }
        match self.is_older(self.fetched(), EXPIRE_AFTER) {
            true => Err(KeysUnavailable),
            false => Ok(self.known(id)),
        }
    }

    fn fetched(&self) -> Option<Instant> {
        self.cached.lock().fetched
    }

    fn known(&self, id: &str) -> Option<IssuerKey> {
        let cached = self.cached.lock().clone();
        cached.keys.get(id).filter(|_| !self.is_older(cached.fetched, EXPIRE_AFTER)).cloned()
    }

    fn is_older(&self, since: Option<Instant>, age: Duration) -> bool {
        since.is_none_or(|since| self.clock.now().saturating_duration_since(since) >= age)
    }

    /// Starts to fetch the keys, unless that was tried a moment ago. Returns the end of the fetch that is running.
    fn refresh(self: &Arc<Self>) -> Option<Shared<BoxFuture<'static, ()>>> {
        let mut last = self.last.lock();
        if let Some(Fetch { done, .. }) = last.as_ref().filter(|last| !last.task.is_finished()) {
            return Some(done.clone());
        }
        if !self.is_older(last.as_ref().map(|last| last.began), MIN_INTERVAL) {
            return None;
        }
        let (cache, began) = (self.clone(), self.clock.now());
        let fetching = tokio::spawn(async move { cache.fetch(began).await });
        let (task, done) = (fetching.abort_handle(), fetching.map(drop).boxed().shared());
        *last = Some(Fetch { began, task, done: done.clone() });
        Some(done)
    }

    async fn fetch(&self, began: Instant) {
        match self.issuer.fetch().await {
            Ok(keys) => *self.cached.lock() = Arc::new(CachedKeys { keys, fetched: Some(began) }),
            Err(error) => {
                tracing::warn!(issuer = %self.issuer.name, "the issuer's keys cannot be had: {}", printable(&error));
            }
        }
    }
}

impl Issuer {
    async fn fetch(&self) -> Result<HashMap<String, IssuerKey>, String> {
        let address = match &self.address {
            Some(address) => address.clone(),
            None => self.discover().await?,
        };
        let bytes = self.documents.get(address.url().clone()).await.map_err(|error| format!("{address}: {error}"))?;
        let document: KeySet = serde_json::from_slice(&bytes).map_err(|error| format!("{address}: {error}"))?;
        Ok(document.keys.into_iter().filter_map(usable_key).take(MAX_KEYS).collect())
    }

    /// Finds the address of the keys in the issuer's metadata: RFC 8414, then OpenID Connect.
    async fn discover(&self) -> Result<Endpoint, String> {
        let path = self.name.url().path().trim_end_matches('/');
        let at = |path: String| {
            let mut url = self.name.url().clone();
            url.set_query(None);
            url.set_path(&path);
            url
        };
        let candidates = [
            at(format!("/.well-known/oauth-authorization-server{path}")),
            at(format!("{path}/.well-known/openid-configuration")),
        ];
        let mut errors = Vec::new();
        for url in candidates {
            match self.documents.get(url.clone()).await.and_then(|bytes| self.keys_address(&bytes)) {
                Ok(address) => return Ok(address),
                Err(error) => errors.push(format!("{url}: {error}")),
            }
        }
        Err(errors.join("; "))
    }

    fn keys_address(&self, metadata: &[u8]) -> Result<Endpoint, String> {
        let metadata: IssuerMetadata = serde_json::from_slice(metadata).map_err(|error| error.to_string())?;
        if metadata.issuer != self.name.as_str() {
            return Err(format!("it is the metadata of `{}`, another issuer", metadata.issuer));
        }
        let address = Endpoint::new(&metadata.jwks_uri).map_err(|error| error.to_string())?;
        if address.is_local() && !self.name.is_local() && address.url().scheme() == "http" {
            return Err(format!("`{address}` is on this machine, the issuer is not"));
        }
        Ok(address)
    }
}

/// Returns a key that can be used: a public one, for signatures, of one of three kinds. Others are skipped, because an issuer
/// may have keys for other purposes.
fn usable_key(value: serde_json::Value) -> Option<(String, IssuerKey)> {
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
