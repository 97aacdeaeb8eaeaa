//! Requests to servers that untrusted parties name. Every address is checked before connecting, each redirect is checked, and
//! every response is bounded in size, time and minimum speed.

use super::client::{ClientBuildError, OutboundClient, OutboundResponse, base_client, error_chain, origin_of};
use bytes::Bytes;
use policy::AddressClass;
use reqwest::Method;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{self, HeaderMap};
use std::net::IpAddr;
use std::time::Duration;
use url::{Host, Origin, Url};

/// Redirects that one request may follow. If there are more, it is probably a loop.
const REDIRECTS: usize = 3;
/// A response that brings fewer than [`MIN_WINDOW_BYTES`] in this time is aborted: at one byte per second, it would take days.
const WINDOW: Duration = Duration::from_secs(5);
/// Bytes that must arrive within each [`WINDOW`].
const MIN_WINDOW_BYTES: usize = 1_024;

/// The networks that a request may reach besides the public internet. Metadata services, multicast and reserved space are never
/// reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AllowedNetwork {
    Public,
    /// This machine, because the URL names it.
    Loopback,
    /// This machine and private networks, because the operator allowed it.
    Private,
}

impl AllowedNetwork {
    /// Whether this address may be connected to; the error says what kind of address it is.
    fn permits(self, address: IpAddr) -> Result<(), &'static str> {
        match (AddressClass::from_ip(address), self) {
            (AddressClass::Public, _) | (AddressClass::Private(_), Self::Private) => Ok(()),
            (AddressClass::Private(_), Self::Loopback) if address.to_canonical().is_loopback() => Ok(()),
            (AddressClass::Private(what) | AddressClass::Forbidden(what), _) => Err(what),
        }
    }

    /// The network that is allowed after a redirect to another origin: a permission for a named host does not extend to the
    /// hosts that it redirects to.
    fn after_redirect(self) -> Self {
        match self {
            Self::Public | Self::Loopback => Self::Public,
            Self::Private => Self::Private,
        }
    }
}

#[derive(Clone)]
pub struct GuardedRequest {
    pub method: Method,
    /// A URL with https, or with plain http to this machine.
    pub url: Url,
    /// The headers. `Authorization` is sent to the origin of this URL only.
    pub headers: HeaderMap,
    pub body: Bytes,
    pub network: AllowedNetwork,
    /// Whether redirects are followed. Requests that exchange a secret for a token follow none.
    pub follow: bool,
    /// Time from connecting to the last byte of the response, including redirects.
    pub timeout: Duration,
    /// Maximum size of the response's body, in bytes.
    pub max_body: u64,
}

#[derive(Debug, Clone, thiserror::Error)]
pub enum GuardedError {
    #[error("`{0}` gave no whole answer within {t}", t = humantime::format_duration(*.1))]
    Timeout(String, Duration),
    #[error("`{0}` answers so slowly that it is given up: fewer than {MIN_WINDOW_BYTES} bytes in {t}", t = humantime::format_duration(WINDOW))]
    Slow(String),
    #[error("the answer of `{0}` is larger than {1} bytes")]
    TooLarge(String, u64),
    #[error("`{0}` cannot be reached: {1}")]
    Unreachable(String, String),
    #[error("`{place}` is not connected to: {address} is {what}")]
    Address { place: String, address: IpAddr, what: &'static str },
    #[error("`{0}` is not asked: only https is, and plain http on this machine itself")]
    Plain(String),
    #[error("the redirect of `{from}` to `{to}` is not followed: {why}")]
    Redirect { from: String, to: String, why: &'static str },
}

/// A resolver that checks all addresses of a name, so that no others are connected to.
struct CheckedResolver(AllowedNetwork);

/// A name resolved to this address, which must not be connected to.
#[derive(Debug, thiserror::Error)]
#[error("{address} is {what}")]
struct Forbidden {
    address: IpAddr,
    what: &'static str,
}

impl Resolve for CheckedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let network = self.0;
        Box::pin(async move {
            let found: Vec<_> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            for address in found.iter().map(std::net::SocketAddr::ip) {
                network.permits(address).map_err(|what| Forbidden { address, what })?;
                // Plain http to localhost is allowed, so a resolver must not send it to another machine.
                if name.as_str() == "localhost" && !address.is_loopback() {
                    return Err(Forbidden { address, what: "not this machine" }.into());
                }
            }
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// One client for each [`AllowedNetwork`], so that requests with different permissions never share a connection.
pub struct GuardedClient {
    public: reqwest::Client,
    loopback: reqwest::Client,
    private: reqwest::Client,
}

impl GuardedClient {
    /// Creates a client that uses the certificates that this machine trusts.
    pub fn new() -> Result<Self, ClientBuildError> {
        let client =
            |network| OutboundClient::build(base_client().dns_resolver(std::sync::Arc::new(CheckedResolver(network))));
        Ok(Self {
            public: client(AllowedNetwork::Public)?,
            loopback: client(AllowedNetwork::Loopback)?,
            private: client(AllowedNetwork::Private)?,
        })
    }

    /// Sends a request. Follows redirects if the request allows that.
    pub async fn send(&self, request: GuardedRequest) -> Result<OutboundResponse, GuardedError> {
        let (timeout, at) = (request.timeout, origin_of(&request.url));
        tokio::time::timeout(timeout, self.follow(request)).await.unwrap_or(Err(GuardedError::Timeout(at, timeout)))
    }

    async fn follow(&self, mut request: GuardedRequest) -> Result<OutboundResponse, GuardedError> {
        for _ in 0..=REDIRECTS {
            let told = self.once(&request).await?;
            if !(request.follow && matches!(told.status, 301 | 302 | 303 | 307 | 308)) {
                return Ok(told);
            }
            redirect(&mut request, told.headers.get(header::LOCATION))?;
        }
        let at = origin_of(&request.url);
        Err(GuardedError::Redirect { from: at.clone(), to: at, why: "there were too many" })
    }

    async fn once(&self, request: &GuardedRequest) -> Result<OutboundResponse, GuardedError> {
        let at = origin_of(&request.url);
        permitted(&request.url, request.network)?;
        let client = match request.network {
            AllowedNetwork::Public => &self.public,
            AllowedNetwork::Loopback => &self.loopback,
            AllowedNetwork::Private => &self.private,
        };
        let lost = |error: reqwest::Error| {
            refused_address(&error, &at)
                .unwrap_or_else(|| GuardedError::Unreachable(at.clone(), error_chain(&error.without_url())))
        };
        let builder = client.request(request.method.clone(), request.url.clone());
        let builder = builder.headers(request.headers.clone()).body(request.body.clone());
        let mut response = builder.send().await.map_err(lost)?;
        let too_large = || GuardedError::TooLarge(at.clone(), request.max_body);
        if request.method != Method::HEAD && response.content_length().is_some_and(|length| length > request.max_body) {
            return Err(too_large());
        }
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let (mut body, mut open) = (Vec::new(), true);
        while open {
            let wanted = body.len() + MIN_WINDOW_BYTES;
            let paced = async {
                while open && body.len() < wanted {
                    match response.chunk().await.map_err(lost)? {
                        Some(piece) if (body.len() + piece.len()) as u64 > request.max_body => return Err(too_large()),
                        Some(piece) => body.extend_from_slice(&piece),
                        None => open = false,
                    }
                }
                Ok(())
            };
            tokio::time::timeout(WINDOW, paced).await.unwrap_or_else(|_| Err(GuardedError::Slow(at.clone())))?;
        }
        Ok(OutboundResponse { status, headers, body })
    }
}

/// Checks a URL before its name is resolved.
fn permitted(url: &Url, network: AllowedNetwork) -> Result<(), GuardedError> {
    let plain = || GuardedError::Plain(origin_of(url));
    let address = match url.host().ok_or_else(plain)? {
        Host::Ipv4(address) => Some(IpAddr::V4(address)),
        Host::Ipv6(address) => Some(IpAddr::V6(address)),
        Host::Domain(_) => None,
    };
    let local = address.map_or_else(|| url.host_str() == Some("localhost"), |address| address.is_loopback());
    if url.scheme() != "https" && !(url.scheme() == "http" && local) {
        return Err(plain());
    }
    match address.map(|address| (address, network.permits(address))) {
        Some((address, Err(what))) => Err(GuardedError::Address { place: origin_of(url), address, what }),
        Some((_, Ok(()))) | None => Ok(()),
    }
}

/// Points a request to the target of its redirect, without the credentials and permissions of the first host.
fn redirect(request: &mut GuardedRequest, location: Option<&header::HeaderValue>) -> Result<(), GuardedError> {
    let from = origin_of(&request.url);
    let fail = |to: String, why| Err(GuardedError::Redirect { from: from.clone(), to, why });
    let Some(to) = location.and_then(|value| value.to_str().ok()).and_then(|text| request.url.join(text).ok()) else {
        return fail("nowhere".into(), "it names no address");
    };
    if request.method != Method::GET && request.method != Method::HEAD {
        return fail(origin_of(&to), "the request changes something");
    }
    let same = matches!(to.origin(), Origin::Tuple(..)) && to.origin() == request.url.origin();
    if !same && to.scheme() != "https" {
        return fail(origin_of(&to), "it is not https");
    }
    if !to.username().is_empty() || to.password().is_some() {
        return fail(origin_of(&to), "it holds a user or a password");
    }
    if !same {
        request.network = request.network.after_redirect();
        request.headers.remove(header::AUTHORIZATION);
    }
    request.url = to;
    Ok(())
}

/// The error for a request that failed because its name resolved to a forbidden address, if that is the cause.
fn refused_address(error: &(dyn std::error::Error + 'static), at: &str) -> Option<GuardedError> {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(Forbidden { address, what }) = error.downcast_ref() {
            return Some(GuardedError::Address { place: at.to_owned(), address: *address, what });
        }
        cause = error.source();
    }
    None
}

#[cfg(test)]
mod tests;
