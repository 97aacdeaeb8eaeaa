//! One repository of a registry, spoken to: signing in, and answers that are held against their digests.

use super::challenge::{Challenge, realm};
use super::error::OciError;
use super::manifest::{Descriptor, Document, IMAGE, INDEX, MAX_MANIFEST};
use crate::install::credentials::{self, Credentials};
use crate::install::reference::{OciName, is_loopback};
use crate::install::settings::SourceSettings;
use bytes::Bytes;
use platform::outbound::header::{self, HeaderMap, HeaderValue};
use platform::outbound::{Guarded, Method, Near, Told, Visit};
use policy::Digest;
use serde::Deserialize;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use url::Url;

/// The longest wait for an answer, where the source's table says nothing.
const PATIENCE: Duration = Duration::from_secs(300);
/// The longest wait for a token.
const TOKEN_PATIENCE: Duration = Duration::from_secs(30);
/// The largest answer that holds a token.
const MAX_TOKEN: u64 = 64 << 10;
/// The largest answer that nobody reads.
const MAX_NOTE: u64 = 64 << 10;
/// What registries say a manifest's digest is. Ours is computed; theirs must not differ.
const CONTENT_DIGEST: &str = "docker-content-digest";

/// What is wanted of a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// To read.
    Pull,
    /// To write too.
    Push,
}

/// One repository, and how it is signed in to.
pub(super) struct Registry<'a> {
    guarded: &'a Guarded,
    settings: &'a SourceSettings,
    repository: String,
    base: Url,
    near: Near,
    access: Access,
    credentials: Option<Credentials>,
    /// What the last challenge was answered with.
    authorization: Mutex<Option<HeaderValue>>,
}

/// A manifest whose bytes are what its digest says.
pub(super) struct Manifest {
    /// As they came.
    pub(super) bytes: Vec<u8>,
    /// Of these bytes.
    pub(super) digest: Digest,
    /// Read.
    pub(super) document: Document,
}

impl<'a> Registry<'a> {
    /// The repository of this name.
    pub(super) fn new(
        guarded: &'a Guarded,
        settings: &'a SourceSettings,
        name: &OciName,
        access: Access,
    ) -> Result<Self, OciError> {
        let unusable = |_| OciError::Manifest("the registry's name is no host".into());
        let mut base = Url::parse(&format!("https://{}/v2/", name.registry)).map_err(unusable)?;
        let local = base.host().is_some_and(|host| is_loopback(&host));
        if local {
            base = Url::parse(&format!("http://{}/v2/", name.registry)).map_err(unusable)?;
        }
        let near = match (settings.private, local) {
            (true, _) => Near::Private,
            (false, true) => Near::Loopback,
            (false, false) => Near::Public,
        };
        let credentials = credentials::read(settings).map_err(OciError::Credentials)?;
        let (repository, authorization) = (name.repository.clone(), Mutex::new(None));
        Ok(Self { guarded, settings, repository, base, near, access, credentials, authorization })
    }

    /// A manifest by tag or digest; none if there is none.
    pub(super) async fn manifest(&self, what: &str) -> Result<Option<Manifest>, OciError> {
        self.document(&format!("manifests/{what}"), "the manifest").await.and_then(|manifest| match manifest {
            Some(manifest) if what.contains(':') && manifest.digest.as_str() != what => {
                Err(changed("the manifest", what, &manifest.digest))
            }
            manifest => Ok(manifest),
        })
    }

    /// The answer of the referrers API about a digest; none if the registry does not have it.
    pub(super) async fn referrers(&self, digest: &Digest) -> Result<Option<Manifest>, OciError> {
        self.document(&format!("referrers/{digest}"), "the list of signatures").await
    }

    async fn document(&self, path: &str, what: &str) -> Result<Option<Manifest>, OciError> {
        let mut headers = HeaderMap::new();
        for kind in [IMAGE, INDEX] {
            headers.append(header::ACCEPT, HeaderValue::from_static(kind));
        }
        let told = self.ask(Method::GET, self.url(path)?, headers, Bytes::new(), MAX_MANIFEST).await?;
        match told.status {
            200 => {}
            404 => return Ok(None),
            status => return Err(OciError::Status { what: what.to_owned(), status }),
        }
        let digest = Digest::of(&told.body);
        if let Some(said) =
            told.headers.get(CONTENT_DIGEST).filter(|said| said.as_bytes() != digest.as_str().as_bytes())
        {
            return Err(changed(what, &String::from_utf8_lossy(said.as_bytes()), &digest));
        }
        let kind = told.headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let document = Document::parse(&told.body, kind)?;
        Ok(Some(Manifest { bytes: told.body, digest, document }))
    }

    /// A blob, as long as its descriptor says and of its digest.
    pub(super) async fn blob(&self, descriptor: &Descriptor, what: &str) -> Result<Vec<u8>, OciError> {
        let digest = descriptor.digest()?;
        let url = self.url(&format!("blobs/{digest}"))?;
        let told = self.ask(Method::GET, url, HeaderMap::new(), Bytes::new(), descriptor.size).await?;
        match told.status {
            200 => {}
            404 => return Err(self.missing(what)),
            status => return Err(OciError::Status { what: what.to_owned(), status }),
        }
        let (expected, found) = (descriptor.size, told.body.len() as u64);
        if found != expected {
            return Err(OciError::Size { what: what.to_owned(), expected, found });
        }
        match Digest::of(&told.body) {
            found if found == digest => Ok(told.body),
            found => Err(changed(what, digest.as_str(), &found)),
        }
    }

    /// Says that something is not there.
    pub(super) fn missing(&self, what: &str) -> OciError {
        OciError::Missing { what: what.to_owned(), signed_in: self.credentials.is_some() }
    }

    /// An address below the repository.
    pub(super) fn url(&self, path: &str) -> Result<Url, OciError> {
        let url = self.base.join(&format!("{}/{path}", self.repository));
        url.map_err(|_| OciError::Manifest("the repository's name is no path".into()))
    }

    /// Whether an address belongs to this registry.
    pub(super) fn owns(&self, url: &Url) -> bool {
        url.origin() == self.base.origin()
    }

    /// Sends something whose answer says no more than that it was taken.
    pub(super) async fn send(
        &self,
        method: Method,
        url: Url,
        kind: Option<&str>,
        body: Bytes,
    ) -> Result<Told, OciError> {
        let mut headers = HeaderMap::new();
        if let Some(kind) = kind.and_then(|kind| HeaderValue::try_from(kind).ok()) {
            headers.insert(header::CONTENT_TYPE, kind);
        }
        self.ask(method, url, headers, body, MAX_NOTE).await
    }

    /// Asks; when the registry wants us to sign in, does so once and asks again.
    async fn ask(&self, method: Method, url: Url, headers: HeaderMap, body: Bytes, max: u64) -> Result<Told, OciError> {
        let timeout = self.settings.timeout.unwrap_or(PATIENCE);
        let visit = || {
            let mut headers = headers.clone();
            headers.extend(self.authorization().map(|value| (header::AUTHORIZATION, value)));
            let (method, url, body) = (method.clone(), url.clone(), body.clone());
            // What is refused is told in a few words, however small the thing is that was asked for.
            Visit { method, url, headers, body, near: self.near, follow: true, timeout, max_body: max.max(MAX_NOTE) }
        };
        let told = self.guarded.visit(visit()).await?;
        let told = if told.status == 401 {
            let challenge =
                Challenge::best(told.headers.get_all(header::WWW_AUTHENTICATE).iter().filter_map(|h| h.to_str().ok()));
            let answer = self.sign_in(challenge).await?;
            *self.authorization.lock().unwrap_or_else(PoisonError::into_inner) = Some(answer);
            self.guarded.visit(visit()).await?
        } else {
            told
        };
        match told.status {
            401 | 403 => Err(OciError::Unauthorized(match &self.credentials {
                Some(_) => "it refuses the user of [sources], or that user may not do this".into(),
                None => "it refuses those who do not sign in; write user and password-file in [sources]".into(),
            })),
            200 if told.body.len() as u64 > max => {
                Err(OciError::TooLarge { what: "the answer".into(), size: told.body.len() as u64, limit: max })
            }
            _ => Ok(told),
        }
    }

    fn authorization(&self) -> Option<HeaderValue> {
        self.authorization.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The header that answers a challenge.
    async fn sign_in(&self, challenge: Option<Challenge>) -> Result<HeaderValue, OciError> {
        match challenge {
            None => Err(OciError::Unauthorized("it wants us to sign in and does not say how we could".into())),
            Some(Challenge::Basic) => match &self.credentials {
                Some(credentials) => Ok(credentials.basic()),
                None => {
                    Err(OciError::Unauthorized("it wants a password; write user and password-file in [sources]".into()))
                }
            },
            Some(Challenge::Bearer { realm: address, service }) => self.token(&address, service.as_deref()).await,
        }
    }

    /// A token for this repository and what we want of it, whatever the challenge says that we want.
    async fn token(&self, address: &str, service: Option<&str>) -> Result<HeaderValue, OciError> {
        #[derive(Deserialize)]
        struct Answer {
            token: Option<String>,
            access_token: Option<String>,
        }
        let mut url = realm(address, &self.base, &self.settings.realms).map_err(OciError::Unauthorized)?;
        let rights = match self.access {
            Access::Pull => "pull",
            Access::Push => "pull,push",
        };
        let near = if self.owns(&url) { self.near } else { elsewhere(self.near, &url) };
        url.query_pairs_mut().append_pair("scope", &format!("repository:{}:{rights}", self.repository));
        url.query_pairs_mut().extend_pairs(service.map(|service| ("service", service)));
        let mut headers = HeaderMap::new();
        headers.extend(self.credentials.as_ref().map(|credentials| (header::AUTHORIZATION, credentials.basic())));
        let (method, body, timeout) = (Method::GET, Bytes::new(), self.settings.timeout.unwrap_or(TOKEN_PATIENCE));
        let visit = Visit { method, url, headers, body, near, follow: false, timeout, max_body: MAX_TOKEN };
        let told = self.guarded.visit(visit).await?;
        let refused = |why: &str| OciError::Unauthorized(format!("no token was given: {why}"));
        match told.status {
            200 => {}
            300..=399 => return Err(refused("requests for tokens are not redirected")),
            401 | 403 => return Err(refused("user or password of [sources] are refused, or there are none")),
            status => return Err(refused(&format!("the answer is {status}"))),
        }
        let answer: Answer = serde_json::from_slice(&told.body).map_err(|_| refused("the answer holds none"))?;
        let token = answer.token.or(answer.access_token).filter(|token| token.bytes().all(|c| c.is_ascii_graphic()));
        let token = token.filter(|token| !token.is_empty()).ok_or_else(|| refused("the answer holds none"))?;
        let mut value = HeaderValue::try_from(format!("Bearer {token}")).map_err(|_| refused("it is no header"))?;
        value.set_sensitive(true);
        Ok(value)
    }
}

/// Where a realm may be that the operator named: near only if it is named as being near.
fn elsewhere(near: Near, url: &Url) -> Near {
    match near {
        Near::Private => Near::Private,
        Near::Loopback if url.host().is_some_and(|host| is_loopback(&host)) => Near::Loopback,
        Near::Loopback | Near::Public => Near::Public,
    }
}

fn changed(what: &str, expected: &str, found: &Digest) -> OciError {
    let expected = platform::telemetry::printable(&expected.chars().take(100).collect::<String>()).into_owned();
    OciError::Digest { what: what.to_owned(), expected, found: found.to_string() }
}
