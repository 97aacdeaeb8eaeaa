//! Checks the Host and Origin headers of every request, for all paths and methods. Without this check any page in the
//! user's browser could use a server on the loopback interface, by its address or by DNS rebinding.

use crate::transport::responses::refusal::HttpRefusal;
use axum::extract::{Request, State};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::str::FromStr;
use std::sync::Arc;

/// The configured hosts and origins.
#[derive(Debug, Default)]
pub(in crate::transport) struct HttpGuard {
    hosts: Vec<(String, Option<u16>)>,
    origins: Vec<Origin>,
}

#[derive(Debug, PartialEq)]
enum Origin {
    /// The origin that browsers send for pages without one, such as local files.
    Null,
    /// Without a port, all ports match.
    Site { scheme: String, host: String, port: Option<u16> },
}

/// An invalid entry of the configuration.
#[derive(Debug, thiserror::Error)]
pub enum HttpGuardError {
    #[error("allowed-hosts: {0:?} is not a host; write one such as \"localhost\", \"example.com:8443\" or \"::1\"")]
    Host(String),
    #[error(
        "allowed-origins: {0:?} is not an origin; write one such as \"https://app.example.com\" or \"http://localhost:*\""
    )]
    Origin(String),
}

impl HttpGuard {
    pub(in crate::transport) fn new(hosts: &[String], origins: &[String]) -> Result<Self, HttpGuardError> {
        let host = |text: &String| parse_host(text).ok_or_else(|| HttpGuardError::Host(text.clone()));
        let origin = |text: &String| parse_allowed_origin(text).ok_or_else(|| HttpGuardError::Origin(text.clone()));
        Ok(Self {
            hosts: hosts.iter().map(host).collect::<Result<_, _>>()?,
            origins: origins.iter().map(origin).collect::<Result<_, _>>()?,
        })
    }

    fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), HttpRefusal> {
        let mut hosts = headers.get_all(header::HOST).iter();
        let (Some(host), None) = (hosts.next(), hosts.next()) else { return Err(HttpRefusal::NoHost) };
        let host = host.to_str().ok().and_then(|host| Authority::from_str(host).ok()).ok_or(HttpRefusal::NoHost)?;
        // A request line with a full URI names a host too.
        for authority in std::iter::once(&host).chain(uri.authority()) {
            if authority.as_str().contains('@') || !self.knows_host(authority) {
                return Err(HttpRefusal::Host);
            }
        }
        let mut origins = headers.get_all(header::ORIGIN).iter();
        let Some(origin) = origins.next() else { return Ok(()) };
        let origin = origin.to_str().ok().and_then(parse_origin).ok_or(HttpRefusal::Origin)?;
        let known = origin.is_same_site(&host) || self.origins.iter().any(|allowed| allowed.matches(&origin));
        if known && origins.next().is_none() { Ok(()) } else { Err(HttpRefusal::Origin) }
    }

    fn knows_host(&self, requested: &Authority) -> bool {
        let name = without_brackets(requested.host());
        let is_port = |port: u16| requested.port_u16() == Some(port);
        self.hosts.iter().any(|(host, port)| host.eq_ignore_ascii_case(name) && port.is_none_or(is_port))
    }
}

impl Origin {
    /// Whether the page comes from the requested host, which is checked before.
    fn is_same_site(&self, requested: &Authority) -> bool {
        let Self::Site { scheme, host, port } = self else { return false };
        let is_host = host.eq_ignore_ascii_case(without_brackets(requested.host()));
        is_host && port.is_some() && *port == requested.port_u16().or(implied_port(scheme))
    }

    /// Whether `self`, an entry of the configuration, allows the origin that a browser sent.
    fn matches(&self, sent: &Self) -> bool {
        match (self, sent) {
            (Self::Null, Self::Null) => true,
            (
                Self::Site { scheme, host, port },
                Self::Site { scheme: sent_scheme, host: sent_host, port: sent_port },
            ) => scheme == sent_scheme && host == sent_host && (port.is_none() || port == sent_port),
            (Self::Null, Self::Site { .. }) | (Self::Site { .. }, Self::Null) => false,
        }
    }
}

/// Without the brackets of an IPv6 address.
fn without_brackets(host: &str) -> &str {
    host.trim_start_matches('[').trim_end_matches(']')
}

fn normalize_host(host: &str) -> String {
    without_brackets(host).to_ascii_lowercase()
}

fn parse_host(text: &str) -> Option<(String, Option<u16>)> {
    if let Ok(address) = text.parse::<std::net::Ipv6Addr>() {
        return Some((address.to_string(), None));
    }
    let authority = Authority::from_str(text).ok().filter(|authority| !authority.as_str().contains('@'))?;
    Some((normalize_host(authority.host()), authority.port_u16()))
}

/// An origin without a port gets the one that its scheme implies.
fn parse_origin(text: &str) -> Option<Origin> {
    if text == "null" {
        return Some(Origin::Null);
    }
    let uri = Uri::from_str(text).ok()?;
    let (scheme, authority) = (uri.scheme_str()?.to_owned(), uri.authority()?);
    if uri.path() != "/" || uri.query().is_some() || text.ends_with('/') || authority.as_str().contains('@') {
        return None;
    }
    let port = authority.port_u16().or(implied_port(&scheme));
    Some(Origin::Site { scheme, host: normalize_host(authority.host()), port })
}

fn implied_port(scheme: &str) -> Option<u16> {
    match scheme {
        "http" => Some(80),
        "https" => Some(443),
        _ => None,
    }
}

fn parse_allowed_origin(text: &str) -> Option<Origin> {
    match text.strip_suffix(":*") {
        None => parse_origin(text),
        Some(any) => match parse_origin(any)? {
            Origin::Site { scheme, host, .. } => Some(Origin::Site { scheme, host, port: None }),
            Origin::Null => None,
        },
    }
}

/// The outermost layer. It also adds the CORS headers that let a page of an allowed origin read the response.
pub(in crate::transport) async fn check_host_and_origin(
    State(guard): State<Arc<HttpGuard>>,
    request: Request,
    next: Next,
) -> Response {
    if let Err(refusal) = guard.check(request.uri(), request.headers()) {
        tracing::debug!(%refusal, "request refused");
        return refusal.response();
    }
    let Some(origin) = request.headers().get(header::ORIGIN).cloned() else { return next.run(request).await };
    let mut response = match *request.method() {
        Method::OPTIONS => preflight_response(request.headers().get(header::ACCESS_CONTROL_REQUEST_HEADERS)),
        _ => next.run(request).await,
    };
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.append(header::VARY, HeaderValue::from_static("Origin"));
    let exposed = HeaderValue::from_static("Mcp-Session-Id, WWW-Authenticate, Retry-After");
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
    response
}

fn preflight_response(requested_headers: Option<&HeaderValue>) -> Response {
    let mut response = StatusCode::NO_CONTENT.into_response();
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST, DELETE"));
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    if let Some(requested) = requested_headers {
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, requested.clone());
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(guard: &HttpGuard, headers: &[(&str, &str)]) -> Result<(), HttpRefusal> {
        let headers = headers.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect();
        guard.check(&Uri::from_static("/health"), &headers)
    }

    #[test]
    fn only_configured_hosts_and_origins_pass() {
        let texts = |list: &[&str]| list.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
        let hosts = texts(&["localhost", "127.0.0.1", "::1", "example.com:8443"]);
        let origins = texts(&["https://app.example.com", "http://localhost:*"]);
        let guard = HttpGuard::new(&hosts, &origins).unwrap();
        for good in ["localhost", "LOCALHOST:1", "127.0.0.1:80", "[::1]", "[::1]:9", "example.com:8443"] {
            assert_eq!(check(&guard, &[("host", good)]), Ok(()), "{good}");
        }
        for bad in ["localhost.evil", "example.com", "example.com:80", "user@localhost", "127.0.0.1.evil:80", "[::2]"] {
            assert_eq!(check(&guard, &[("host", bad)]), Err(HttpRefusal::Host), "{bad}");
        }
        for none in [&[][..], &[("host", "")], &[("host", "a b")], &[("host", "localhost"), ("host", "localhost")]] {
            assert_eq!(check(&guard, none), Err(HttpRefusal::NoHost), "{none:?}");
        }
        let from = |origin| check(&guard, &[("host", "localhost"), ("origin", origin)]);
        for good in
            ["https://app.example.com", "https://app.example.com:443", "http://localhost", "http://localhost:3000"]
        {
            assert_eq!(from(good), Ok(()), "{good}");
        }
        for bad in [
            "https://app.example.com:444",
            "http://app.example.com",
            "https://localhost:1",
            "null",
            "",
            "app.example.com",
            "https://x@app.example.com",
            "https://app.example.com/",
        ] {
            assert_eq!(from(bad), Err(HttpRefusal::Origin), "{bad}");
        }
        let own = |host, origin| check(&guard, &[("host", host), ("origin", origin)]);
        assert_eq!(own("127.0.0.1:8808", "http://127.0.0.1:8808"), Ok(()), "a page of this server");
        assert_eq!(own("[::1]", "https://[::1]"), Ok(()));
        for (host, origin) in
            [("127.0.0.1:8808", "http://127.0.0.1:80"), ("127.0.0.1", "ftp://127.0.0.1"), ("127.0.0.1", "null")]
        {
            assert_eq!(own(host, origin), Err(HttpRefusal::Origin), "{origin}");
        }
        assert_eq!(own("evil.example", "http://evil.example"), Err(HttpRefusal::Host));
        let full = Uri::from_static("http://evil.example/health");
        let headers = [(header::HOST, HeaderValue::from_static("localhost"))].into_iter().collect();
        assert_eq!(guard.check(&full, &headers), Err(HttpRefusal::Host));
        for bad in ["", "a b", "http://localhost"] {
            assert!(HttpGuard::new(&texts(&[bad]), &[]).is_err(), "{bad}");
        }
        assert!(HttpGuard::new(&[], &texts(&["localhost"])).is_err());
    }
}
