//! A client for one repository of a registry: signs in, and checks answers against their digests.

use super::challenge::{Challenge, check_realm};
use super::error::OciError;
use super::manifest::{Descriptor, IMAGE, INDEX, MAX_MANIFEST, ManifestDocument};
use crate::install::credentials::{self, Credentials};
use crate::install::reference::{OciName, is_loopback};
use crate::install::settings::SourceSettings;
use bytes::Bytes;
use platform::outbound::header::{self, HeaderMap, HeaderValue};
use platform::outbound::{AllowedNetwork, GuardedClient, GuardedRequest, Method, OutboundResponse};
use platform::sync::Mutex;
use platform::text::truncate_chars;
use policy::Digest;
use serde::Deserialize;
use std::time::Duration;
use url::Url;

/// How long one answer may take, unless `[sources]` sets a timeout.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(300);
/// How long a token may take, unless `[sources]` sets a timeout.
const DEFAULT_TOKEN_TIMEOUT: Duration = Duration::from_secs(30);
/// The largest answer with a token.
const MAX_TOKEN: u64 = 64 << 10;
/// The tags that one request asks for. A registry may return fewer.
const TAGS_OF_PAGE: u32 = 1_000;
/// The largest page of tags, in bytes; a tag has up to 128 characters.
const MAX_TAG_LIST: u64 = 1 << 20;
/// The largest answer whose body is ignored, such as an error page.
const MAX_IGNORED_BODY: u64 = 64 << 10;
/// The digest of a manifest as the registry states it. It must equal the digest that is computed here.
const CONTENT_DIGEST: &str = "docker-content-digest";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RepositoryAccess {
    Pull,
    Push,
}

pub(super) struct RepositoryClient<'a> {
    client: &'a GuardedClient,
    settings: &'a SourceSettings,
    repository: String,
    base: Url,
    network: AllowedNetwork,
    access: RepositoryAccess,
    credentials: Option<Credentials>,
    /// The header that answered the last challenge.
    authorization: Mutex<Option<HeaderValue>>,
}

/// A manifest whose bytes match its digest.
pub(super) struct FetchedManifest {
    pub(super) bytes: Vec<u8>,
    pub(super) digest: Digest,
    pub(super) document: ManifestDocument,
}

impl<'a> RepositoryClient<'a> {
    pub(super) fn new(
        client: &'a GuardedClient,
        settings: &'a SourceSettings,
        name: &OciName,
        access: RepositoryAccess,
    ) -> Result<Self, OciError> {
        let unusable = |_| OciError::Manifest("the registry's name is not a host".into());
        let mut base = Url::parse(&format!("https://{}/v2/", name.registry)).map_err(unusable)?;
        let local = base.host().is_some_and(|host| is_loopback(&host));
        if local {
            base = Url::parse(&format!("http://{}/v2/", name.registry)).map_err(unusable)?;
        }
        let network = match (settings.private, local) {
            (true, _) => AllowedNetwork::Private,
            (false, true) => AllowedNetwork::Loopback,
            (false, false) => AllowedNetwork::Public,
        };
        let credentials = credentials::read_credentials(settings).map_err(OciError::Credentials)?;
        let (repository, authorization) = (name.repository.clone(), Mutex::new(None));
        Ok(Self { client, settings, repository, base, network, access, credentials, authorization })
    }

    /// Fetches a manifest by tag or digest, if it exists.
    pub(super) async fn manifest(&self, what: &str) -> Result<Option<FetchedManifest>, OciError> {
        self.document(&format!("manifests/{what}"), "the manifest").await.and_then(|manifest| match manifest {
            Some(manifest) if what.contains(':') && manifest.digest.as_str() != what => {
                Err(digest_mismatch("the manifest", what, &manifest.digest))
            }
            manifest => Ok(manifest),
        })
    }

    /// Fetches the list of referrers of a digest. None if the registry lacks the referrers API.
    pub(super) async fn referrers(&self, digest: &Digest) -> Result<Option<FetchedManifest>, OciError> {
        self.document(&format!("referrers/{digest}"), "the list of signatures").await
    }

    pub(super) fn first_page_of_tags(&self) -> Result<Url, OciError> {
        self.url(&format!("tags/list?n={TAGS_OF_PAGE}"))
    }

    /// One page of the repository's tags, and where the next one is. None if the registry does not list tags.
    pub(super) async fn tags(&self, page: Url) -> Result<Option<(Vec<String>, Option<Url>)>, OciError> {
        #[derive(Deserialize)]
        struct TagList {
            // Some registries send null instead of an empty list.
            tags: Option<Vec<String>>,
        }
        let what = "the list of tags";
        let response = self.request(Method::GET, page.clone(), HeaderMap::new(), Bytes::new(), MAX_TAG_LIST).await?;
        match response.status {
            200 => {}
            404 | 405 | 501 => return Ok(None),
            status => return Err(OciError::Status { what: what.to_owned(), status }),
        }
        let list: TagList = serde_json::from_slice(&response.body)
            .map_err(|error| OciError::Manifest(format!("{what} is not one: {error}")))?;
        let links = response.headers.get_all(header::LINK).iter().filter_map(|link| link.to_str().ok());
        let next = links.flat_map(|link| link.split(',')).find_map(next_page);
        let next = next.and_then(|next| page.join(next).ok()).filter(|next| self.is_own_url(next));
        Ok(Some((list.tags.unwrap_or_default(), next)))
    }

    async fn document(&self, path: &str, what: &str) -> Result<Option<FetchedManifest>, OciError> {
        let mut headers = HeaderMap::new();
        for kind in [IMAGE, INDEX] {
            headers.append(header::ACCEPT, HeaderValue::from_static(kind));
        }
        let response = self.request(Method::GET, self.url(path)?, headers, Bytes::new(), MAX_MANIFEST).await?;
        match response.status {
            200 => {}
            404 => return Ok(None),
            status => return Err(OciError::Status { what: what.to_owned(), status }),
        }
        let digest = Digest::sha256(&response.body);
        if let Some(stated) =
            response.headers.get(CONTENT_DIGEST).filter(|stated| stated.as_bytes() != digest.as_str().as_bytes())
        {
            return Err(digest_mismatch(what, &String::from_utf8_lossy(stated.as_bytes()), &digest));
        }
        let kind = response.headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let document = ManifestDocument::parse(&response.body, kind)?;
        Ok(Some(FetchedManifest { bytes: response.body, digest, document }))
    }

    /// Fetches a blob, and checks it against the size and digest of its descriptor.
    pub(super) async fn blob(&self, descriptor: &Descriptor, what: &str) -> Result<Vec<u8>, OciError> {
        let digest = descriptor.digest()?;
        let url = self.url(&format!("blobs/{digest}"))?;
        let response = self.request(Method::GET, url, HeaderMap::new(), Bytes::new(), descriptor.size).await?;
        match response.status {
            200 => {}
            404 => return Err(self.missing_error(what)),
            status => return Err(OciError::Status { what: what.to_owned(), status }),
        }
        let (expected, found) = (descriptor.size, response.body.len() as u64);
        if found != expected {
            return Err(OciError::Size { what: what.to_owned(), expected, found });
        }
        match Digest::sha256(&response.body) {
            found if found == digest => Ok(response.body),
            found => Err(digest_mismatch(what, digest.as_str(), &found)),
        }
    }

    pub(super) fn missing_error(&self, what: &str) -> OciError {
        OciError::Missing { what: what.to_owned(), signed_in: self.credentials.is_some() }
    }

    pub(super) fn url(&self, path: &str) -> Result<Url, OciError> {
        let url = self.base.join(&format!("{}/{path}", self.repository));
        url.map_err(|_| OciError::Manifest("the repository's name is not a path".into()))
    }

    /// Whether a URL is at this registry.
    pub(super) fn is_own_url(&self, url: &Url) -> bool {
        url.origin() == self.base.origin()
    }

    /// Sends a request whose answer has no interesting body.
    pub(super) async fn send(
        &self,
        method: Method,
        url: Url,
        kind: Option<&str>,
        body: Bytes,
    ) -> Result<OutboundResponse, OciError> {
        let mut headers = HeaderMap::new();
        if let Some(kind) = kind.and_then(|kind| HeaderValue::try_from(kind).ok()) {
            headers.insert(header::CONTENT_TYPE, kind);
        }
        self.request(method, url, headers, body, MAX_IGNORED_BODY).await
    }

    /// Sends a request. If the registry wants authentication, signs in once and tries again.
    async fn request(
        &self,
        method: Method,
        url: Url,
        headers: HeaderMap,
        body: Bytes,
        max: u64,
    ) -> Result<OutboundResponse, OciError> {
        let timeout = self.settings.timeout.unwrap_or(DEFAULT_TIMEOUT);
        let request = || {
            let mut headers = headers.clone();
            headers.extend(self.authorization().map(|value| (header::AUTHORIZATION, value)));
            let (method, url, body) = (method.clone(), url.clone(), body.clone());
            // An error page may be larger than the requested blob.
            GuardedRequest {
                method,
                url,
                headers,
                body,
                network: self.network,
                follow: true,
                timeout,
                max_body: max.max(MAX_IGNORED_BODY),
            }
        };
        let response = self.client.send(request()).await?;
        let response = if response.status == 401 {
            let challenge = Challenge::best(
                response.headers.get_all(header::WWW_AUTHENTICATE).iter().filter_map(|h| h.to_str().ok()),
            );
            let answer = self.sign_in(challenge).await?;
            *self.authorization.lock() = Some(answer);
            self.client.send(request()).await?
        } else {
            response
        };
        match response.status {
            401 | 403 => Err(OciError::Unauthorized(match &self.credentials {
                Some(_) => "it refuses the user of [sources], or that user may not do this".into(),
                None => "it requires authentication; set user and password-file in [sources]".into(),
            })),
            200 if response.body.len() as u64 > max => {
                Err(OciError::TooLarge { what: "the answer".into(), size: response.body.len() as u64, limit: max })
            }
            _ => Ok(response),
        }
    }

    fn authorization(&self) -> Option<HeaderValue> {
        self.authorization.lock().clone()
    }

    /// Answers a challenge with the value of an `Authorization` header.
    async fn sign_in(&self, challenge: Option<Challenge>) -> Result<HeaderValue, OciError> {
        match challenge {
            None => Err(OciError::Unauthorized("it requires authentication but does not say how".into())),
            Some(Challenge::Basic) => match &self.credentials {
                Some(credentials) => Ok(credentials.basic_header()),
                None => Err(OciError::Unauthorized(
                    "it requires a password; set user and password-file in [sources]".into(),
                )),
            },
            Some(Challenge::Bearer { realm: address, service }) => self.fetch_token(&address, service.as_deref()).await,
        }
    }

    /// Fetches a token for this repository and the required access. The scope in the challenge is ignored.
    async fn fetch_token(&self, address: &str, service: Option<&str>) -> Result<HeaderValue, OciError> {
        #[derive(Deserialize)]
        struct TokenResponse {
            token: Option<String>,
            access_token: Option<String>,
        }
        let mut url = check_realm(address, &self.base, &self.settings.realms).map_err(OciError::Unauthorized)?;
        let rights = match self.access {
            RepositoryAccess::Pull => "pull",
            RepositoryAccess::Push => "pull,push",
        };
        let network = if self.is_own_url(&url) { self.network } else { network_for_realm(self.network, &url) };
        url.query_pairs_mut().append_pair("scope", &format!("repository:{}:{rights}", self.repository));
        url.query_pairs_mut().extend_pairs(service.map(|service| ("service", service)));
        let mut headers = HeaderMap::new();
        headers
            .extend(self.credentials.as_ref().map(|credentials| (header::AUTHORIZATION, credentials.basic_header())));
        let (method, body, timeout) =
            (Method::GET, Bytes::new(), self.settings.timeout.unwrap_or(DEFAULT_TOKEN_TIMEOUT));
        let request =
            GuardedRequest { method, url, headers, body, network, follow: false, timeout, max_body: MAX_TOKEN };
        let response = self.client.send(request).await?;
        let refused = |why: &str| OciError::Unauthorized(format!("no token was given: {why}"));
        match response.status {
            200 => {}
            300..=399 => return Err(refused("requests for tokens are not redirected")),
            401 | 403 => return Err(refused("user or password of [sources] are refused, or there are none")),
            status => return Err(refused(&format!("the answer is {status}"))),
        }
        let answer: TokenResponse =
            serde_json::from_slice(&response.body).map_err(|_| refused("the answer contains none"))?;
        let token = answer.token.or(answer.access_token).filter(|token| token.bytes().all(|c| c.is_ascii_graphic()));
        let token = token.filter(|token| !token.is_empty()).ok_or_else(|| refused("the answer contains none"))?;
        let mut value =
            HeaderValue::try_from(format!("Bearer {token}")).map_err(|_| refused("it is not a valid header"))?;
        value.set_sensitive(true);
        Ok(value)
    }
}

/// The address in a `Link` header for the next page (RFC 8288).
fn next_page(link: &str) -> Option<&str> {
    let (address, parameters) = link.trim().strip_prefix('<')?.split_once('>')?;
    parameters.split(';').any(|it| matches!(it.trim(), "rel=\"next\"" | "rel=next")).then_some(address)
}

/// The networks where a realm at another host may be. Loopback only if its URL names the loopback host.
fn network_for_realm(network: AllowedNetwork, url: &Url) -> AllowedNetwork {
    match network {
        AllowedNetwork::Private => AllowedNetwork::Private,
        AllowedNetwork::Loopback if url.host().is_some_and(|host| is_loopback(&host)) => AllowedNetwork::Loopback,
        AllowedNetwork::Loopback | AllowedNetwork::Public => AllowedNetwork::Public,
    }
}

fn digest_mismatch(what: &str, expected: &str, found: &Digest) -> OciError {
    let expected = platform::telemetry::printable(truncate_chars(expected, 100)).into_owned();
    OciError::Digest { what: what.to_owned(), expected, found: found.to_string() }
}
