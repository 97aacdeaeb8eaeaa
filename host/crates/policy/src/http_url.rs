//! The URL of a request, read once in the way in which it is then decided about, resolved and sent.
//!
//! Two parts of a program that read one URL in two ways are how a request reaches a host that nobody allowed. So a URL is
//! read by one parser, and what could be meant to be read otherwise is refused.

use super::{HttpPattern, HttpTarget};
use url::{Host, Url};

/// The longest URL, in bytes. Bounds what is logged, recorded and sent as one line.
const MAX_URL: usize = 8 << 10;

/// Why a text is no request that could be sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's sentence says what it is")]
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
    /// Reads method and URL. The URL that comes with it is the one to send: without fragment, everything normalised.
    pub fn read(method: &str, url: &str) -> Result<(Self, Url), HttpUrlError> {
        if url.len() > MAX_URL {
            return Err(HttpUrlError::TooLong);
        }
        if !HttpPattern::knows(method) {
            return Err(HttpUrlError::Method);
        }
        // The standard's parser strips some of these, and other parsers do not.
        if url.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return Err(HttpUrlError::Characters);
        }
        // It also repairs `http:/host` and `http:host`.
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
        // And it skips further slashes before the host.
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
        let target = Self { method: method.to_owned(), secure, host, port, path: url.path().to_owned() };
        Ok((target, url))
    }
}

/// Whether it is a name that DNS can have. One with a dot at the end would be another name to a pattern and the same to a
/// resolver.
fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    let label = |label: &str| !label.is_empty() && label.len() <= 63 && label.chars().all(plain);
    name.len() <= 253 && name.split('.').all(label)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(url: &str) -> Result<String, HttpUrlError> {
        HttpTarget::read("GET", url).map(|(target, _)| target.to_string())
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
        let (_, url) = HttpTarget::read("GET", "https://a.example/x?y=1#z").unwrap();
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
        assert_eq!(HttpTarget::read("CONNECT", "https://a.example/"), Err(HttpUrlError::Method));
        assert_eq!(HttpTarget::read("get", "https://a.example/"), Err(HttpUrlError::Method));
    }
}
