//! Requests to servers whose names come from strangers: every address is looked at before it is connected to, redirects
//! are followed by hand, and every answer is bounded in size, time and slowness.

use super::{HeaderMap, Method, Outbound, OutboundError, Told, base_client, place, reasons};
use bytes::Bytes;
use policy::Reach;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header;
use std::net::IpAddr;
use std::time::Duration;
use url::{Host, Origin, Url};

/// Redirects of one request. More are a loop, or a hunt through hosts.
const REDIRECTS: usize = 3;
/// An answer that brings less than [`PACE`] in this time is given up: a byte a second would hold us for days.
const WINDOW: Duration = Duration::from_secs(5);
/// Bytes that must have come when a [`WINDOW`] is over.
const PACE: usize = 1_024;

/// How near to this machine a request may lead, besides to the public internet. Metadata services, groups and reserved
/// space are never reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Near {
    /// Nowhere else.
    Public,
    /// To this machine, because it was named so.
    Loopback,
    /// To private networks too, because the operator said so.
    Private,
}

impl Near {
    /// Whether this address may be connected to; else what it is.
    fn permits(self, address: IpAddr) -> Result<(), &'static str> {
        match (Reach::of(address), self) {
            (Reach::Public, _) | (Reach::Private(_), Self::Private) => Ok(()),
            (Reach::Private(_), Self::Loopback) if address.to_canonical().is_loopback() => Ok(()),
            (Reach::Private(what) | Reach::Never(what), _) => Err(what),
        }
    }

    /// After a redirect to somebody else: what was allowed for a named host is not allowed for whom that host names.
    fn elsewhere(self) -> Self {
        match self {
            Self::Public | Self::Loopback => Self::Public,
            Self::Private => Self::Private,
        }
    }
}

/// One request.
#[derive(Clone)]
pub struct Visit {
    /// Such as GET.
    pub method: Method,
    /// Where; https, or plain http to this machine.
    pub url: Url,
    /// An `Authorization` goes to this URL's origin only.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
    /// Where it may lead.
    pub near: Near,
    /// Whether redirects are followed. Requests that carry a secret in exchange for another follow none.
    pub follow: bool,
    /// From connecting to the last byte of the answer, redirects included.
    pub timeout: Duration,
    /// Of the answer's body, in bytes.
    pub max_body: u64,
}

/// Why there is no answer.
#[derive(Debug, Clone, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's sentence says what its fields are")]
pub enum VisitError {
    #[error("`{0}` gave no whole answer within {t}", t = humantime::format_duration(*.1))]
    Timeout(String, Duration),
    #[error("`{0}` answers so slowly that it is given up: fewer than {PACE} bytes in {t}", t = humantime::format_duration(WINDOW))]
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

/// Names are resolved once for a connection, all their addresses are looked at, and one of those is connected to.
struct Checked(Near);

/// An address that a name resolved to.
#[derive(Debug, thiserror::Error)]
#[error("{address} is {what}")]
struct Forbidden {
    address: IpAddr,
    what: &'static str,
}

impl Resolve for Checked {
    fn resolve(&self, name: Name) -> Resolving {
        let near = self.0;
        Box::pin(async move {
            let found: Vec<_> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            for address in found.iter().map(std::net::SocketAddr::ip) {
                near.permits(address).map_err(|what| Forbidden { address, what })?;
                // Plain http goes there: a resolver must not be able to send it elsewhere.
                if name.as_str() == "localhost" && !address.is_loopback() {
                    return Err(Forbidden { address, what: "not this machine" }.into());
                }
            }
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// The clients, one for each [`Near`]: a connection is never shared between requests that may lead to different places.
pub struct Guarded {
    public: reqwest::Client,
    loopback: reqwest::Client,
    private: reqwest::Client,
}

impl Guarded {
    /// With the certificates that this machine trusts.
    pub fn new() -> Result<Self, OutboundError> {
        let client = |near| Outbound::made(base_client().dns_resolver(std::sync::Arc::new(Checked(near))));
        Ok(Self { public: client(Near::Public)?, loopback: client(Near::Loopback)?, private: client(Near::Private)? })
    }

    /// Asks, and follows redirects if the visit says so.
    pub async fn visit(&self, visit: Visit) -> Result<Told, VisitError> {
        let (timeout, at) = (visit.timeout, place(&visit.url));
        tokio::time::timeout(timeout, self.follow(visit)).await.unwrap_or(Err(VisitError::Timeout(at, timeout)))
    }

    async fn follow(&self, mut visit: Visit) -> Result<Told, VisitError> {
        for _ in 0..=REDIRECTS {
            let told = self.once(&visit).await?;
            if !(visit.follow && matches!(told.status, 301 | 302 | 303 | 307 | 308)) {
                return Ok(told);
            }
            redirect(&mut visit, told.headers.get(header::LOCATION))?;
        }
        let at = place(&visit.url);
        Err(VisitError::Redirect { from: at.clone(), to: at, why: "there were too many" })
    }

    async fn once(&self, visit: &Visit) -> Result<Told, VisitError> {
        let at = place(&visit.url);
        permitted(&visit.url, visit.near)?;
        let client = match visit.near {
            Near::Public => &self.public,
            Near::Loopback => &self.loopback,
            Near::Private => &self.private,
        };
        let lost = |error: reqwest::Error| {
            refused_address(&error, &at)
                .unwrap_or_else(|| VisitError::Unreachable(at.clone(), reasons(&error.without_url())))
        };
        let request = client.request(visit.method.clone(), visit.url.clone());
        let request = request.headers(visit.headers.clone()).body(visit.body.clone());
        let mut response = request.send().await.map_err(lost)?;
        let too_large = || VisitError::TooLarge(at.clone(), visit.max_body);
        if visit.method != Method::HEAD && response.content_length().is_some_and(|length| length > visit.max_body) {
            return Err(too_large());
        }
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let (mut body, mut open) = (Vec::new(), true);
        while open {
            let wanted = body.len() + PACE;
            let paced = async {
                while open && body.len() < wanted {
                    match response.chunk().await.map_err(lost)? {
                        Some(piece) if (body.len() + piece.len()) as u64 > visit.max_body => return Err(too_large()),
                        Some(piece) => body.extend_from_slice(&piece),
                        None => open = false,
                    }
                }
                Ok(())
            };
            tokio::time::timeout(WINDOW, paced).await.unwrap_or_else(|_| Err(VisitError::Slow(at.clone())))?;
        }
        Ok(Told { status, headers, body })
    }
}

/// What can be said of a URL before its name is resolved.
fn permitted(url: &Url, near: Near) -> Result<(), VisitError> {
    let plain = || VisitError::Plain(place(url));
    let address = match url.host().ok_or_else(plain)? {
        Host::Ipv4(address) => Some(IpAddr::V4(address)),
        Host::Ipv6(address) => Some(IpAddr::V6(address)),
        Host::Domain(_) => None,
    };
    let local = address.map_or_else(|| url.host_str() == Some("localhost"), |address| address.is_loopback());
    if url.scheme() != "https" && !(url.scheme() == "http" && local) {
        return Err(plain());
    }
    match address.map(|address| (address, near.permits(address))) {
        Some((address, Err(what))) => Err(VisitError::Address { place: place(url), address, what }),
        Some((_, Ok(()))) | None => Ok(()),
    }
}

/// Turns a visit to where it was redirected, without what was meant for the first host.
fn redirect(visit: &mut Visit, location: Option<&header::HeaderValue>) -> Result<(), VisitError> {
    let from = place(&visit.url);
    let fail = |to: String, why| Err(VisitError::Redirect { from: from.clone(), to, why });
    let Some(to) = location.and_then(|value| value.to_str().ok()).and_then(|text| visit.url.join(text).ok()) else {
        return fail("nowhere".into(), "it names no address");
    };
    if visit.method != Method::GET && visit.method != Method::HEAD {
        return fail(place(&to), "the request changes something");
    }
    let same = matches!(to.origin(), Origin::Tuple(..)) && to.origin() == visit.url.origin();
    if !same && to.scheme() != "https" {
        return fail(place(&to), "it is not https");
    }
    if !to.username().is_empty() || to.password().is_some() {
        return fail(place(&to), "it holds a user or a password");
    }
    if !same {
        visit.near = visit.near.elsewhere();
        visit.headers.remove(header::AUTHORIZATION);
    }
    visit.url = to;
    Ok(())
}

/// Whether a request failed because of where its name led.
fn refused_address(error: &(dyn std::error::Error + 'static), at: &str) -> Option<VisitError> {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(Forbidden { address, what }) = error.downcast_ref() {
            return Some(VisitError::Address { place: at.to_owned(), address: *address, what });
        }
        cause = error.source();
    }
    None
}

#[cfg(test)]
mod tests;
