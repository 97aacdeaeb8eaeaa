//! The method and URL of a request, parsed once. The result is used to decide, to resolve the name and to send.
//!
//! If two parts of a program parse a URL differently, a request can reach a host that was never allowed. So there is only one
//! parser, and it refuses URLs that other parsers may read differently.

use super::RequestPath;
use std::fmt;
use url::{Host, Url};

/// The allowed methods. CONNECT would open a tunnel, and TRACE reveals request headers.
pub(super) const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
/// The longest URL, in bytes. Bounds what is logged, recorded in the audit log and sent as one line.
const MAX_URL: usize = 8 << 10;

/// A request in the normalised form in which it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpTarget {
    pub method: String,
    pub secure: bool,
    /// In lower case, after IDNA processing; an address is written as in URLs.
    pub host: String,
    pub port: u16,
    /// The path after its dot segments are resolved.
    pub path: RequestPath,
}

/// Why a method and URL are refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HttpUrlError {
    #[error("the URL is longer than {MAX_URL} bytes")]
    TooLong,
    #[error("the method must be GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS, in capitals")]
    Method,
    #[error("the scheme must be http or https, followed by `//` and a host")]
    Scheme,
    #[error("the URL has white space or control characters in it")]
    Characters,
    #[error("the URL has a user, a password or a backslash in its host")]
    Authority,
    #[error("the URL's host is neither a name nor an address")]
    Host,
    #[error("the URL's port is not one that can be connected to")]
    Port,
}

impl HttpTarget {
    /// Parses method and URL strictly. The returned URL is the one to send: normalised, without fragment.
    pub fn parse_request(method: &str, url: &str) -> Result<(Self, Url), HttpUrlError> {
        if url.len() > MAX_URL {
            return Err(HttpUrlError::TooLong);
        }
        if !METHODS.contains(&method) {
            return Err(HttpUrlError::Method);
        }
        // The WHATWG parser strips some of these characters, and other parsers do not.
        if url.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return Err(HttpUrlError::Characters);
        }
        // The WHATWG parser also repairs `http:/host` and `http:host`.
        let (scheme, rest) = url.split_once("://").ok_or(HttpUrlError::Scheme)?;
        let secure = match scheme.to_ascii_lowercase().as_str() {
            "https" => true,
            "http" => false,
            _ => return Err(HttpUrlError::Scheme),
        };
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if authority.contains(['@', '\\']) {
            return Err(HttpUrlError::Authority);
        }
        // The WHATWG parser also skips further slashes before the host.
        if authority.is_empty() {
            return Err(HttpUrlError::Host);
        }
        let mut url = Url::parse(url).map_err(|error| match error {
            url::ParseError::InvalidPort => HttpUrlError::Port,
            _ => HttpUrlError::Host,
        })?;
        url.set_fragment(None);
        let host = match url.host() {
            Some(Host::Domain(name)) if is_name(name) => name.to_owned(),
            Some(Host::Ipv4(address)) => address.to_string(),
            Some(Host::Ipv6(address)) => format!("[{address}]"),
            Some(Host::Domain(_)) | None => return Err(HttpUrlError::Host),
        };
        let port = url.port_or_known_default().filter(|port| *port > 0).ok_or(HttpUrlError::Port)?;
        let target = Self { method: method.to_owned(), secure, host, port, path: RequestPath::new(url.path()) };
        Ok((target, url))
    }

    /// Parses the URL of an operator's question, more leniently than that of a request; the error is a sentence.
    pub fn parse(method: &str, url: &str) -> Result<Self, String> {
        let parsed = Url::parse(url).map_err(|error| format!("`{url}` is no URL: {error}"))?;
        let secure = match parsed.scheme() {
            "https" => true,
            "http" => false,
            other => return Err(format!("`{other}` is neither `https` nor `http`")),
        };
        let host = parsed.host_str().ok_or_else(|| format!("`{url}` names no host"))?;
        if !parsed.username().is_empty() || parsed.password().is_some() {
            return Err("a user or password has no place in a URL".into());
        }
        let port = parsed.port_or_known_default().unwrap_or(if secure { 443 } else { 80 });
        let (host, path) = (host.to_owned(), RequestPath::new(parsed.path()));
        Ok(Self { method: method.to_ascii_uppercase(), secure, host, port, path })
    }
}

impl fmt::Display for HttpTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { method, secure, host, port, path } = self;
        let scheme = if *secure { "https" } else { "http" };
        match (secure, port) {
            (true, 443) | (false, 80) => write!(f, "{method} {scheme}://{host}{path}"),
            _ => write!(f, "{method} {scheme}://{host}:{port}{path}"),
        }
    }
}

/// Whether it is a valid DNS name. A trailing dot is refused: a pattern would see another name, and a resolver the same one.
fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    let label = |label: &str| !label.is_empty() && label.len() <= 63 && label.chars().all(plain);
    name.len() <= 253 && name.split('.').all(label)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(url: &str) -> Result<String, HttpUrlError> {
        HttpTarget::parse_request("GET", url).map(|(target, _)| target.to_string())
    }

    #[test]
    fn every_spelling_is_one_target() {
        for (spelling, target) in [
            ("https://api.example.com", "GET https://api.example.com/"),
            ("HTTPS://API.Example.COM:443/a/../b?q#f", "GET https://api.example.com/b"),
            ("http://bücher.example/ä", "GET http://xn--bcher-kva.example/%C3%A4"),
            ("http://2130706433/", "GET http://127.0.0.1/"),
            ("http://0x7f.1:8080/", "GET http://127.0.0.1:8080/"),
            ("http://0177.0.0.1/", "GET http://127.0.0.1/"),
            ("http://127.1/", "GET http://127.0.0.1/"),
            ("http://%31%32%37.0.0.1/", "GET http://127.0.0.1/"),
            ("http://127。0。0。1/", "GET http://127.0.0.1/"),
            ("http://[::FFFF:7f00:1]/", "GET http://[::ffff:127.0.0.1]/"),
            ("https://a.example/%2e%2e/x\\y", "GET https://a.example/x/y"),
        ] {
            assert_eq!(read(spelling).unwrap(), target, "{spelling}");
        }
        let (_, url) = HttpTarget::parse_request("GET", "https://a.example/x?y=1#z").unwrap();
        assert_eq!(url.as_str(), "https://a.example/x?y=1");
    }

    #[test]
    fn what_could_be_read_otherwise_is_refused() {
        for bad in [
            "https://user@a.example/",
            "https://allowed@169.254.169.254/",
            "https://a.example\\@b.example/",
            "https:/a.example/",
            "https:a.example/",
            "https:///a.example/",
            "//a.example/",
            "file:///etc/passwd",
            "ftp://a.example/",
            "https://a.example./",
            "https://a..example/",
            "https://",
            "https://a.example:0/",
            "https://a.example:99999/",
            "https://a.exa\tmple/",
            " https://a.example/",
            "https://a.example/\r\nX: y",
            "https://[::1%25lo]/",
            "https://[::1/",
            "https://1.2.3.4.5/",
            "https://256.256.256.256/",
            "https://a!b.example/",
        ] {
            assert!(read(bad).is_err(), "{bad}: {:?}", read(bad));
        }
        assert_eq!(HttpTarget::parse_request("CONNECT", "https://a.example/"), Err(HttpUrlError::Method));
        assert_eq!(HttpTarget::parse_request("get", "https://a.example/"), Err(HttpUrlError::Method));
    }
}
