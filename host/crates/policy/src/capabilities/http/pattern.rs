//! Patterns over HTTP requests: methods, scheme, host, port and the beginning of the path.
//!
//! The same grammar serves for what a manifest requests, what an operator grants and what `policy test` asks about:
//! `[METHOD[,METHOD...] ]SCHEME://HOST[:PORT][/PATH]`.

use super::target::{HttpTarget, METHODS};
use super::{AddressClass, RequestPath};
use crate::names::HostPattern;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// The longest pattern, in bytes. Bounds what an operator has to read.
const MAX_LENGTH: usize = 512;

/// A set of requests, such as `GET,POST https://api.example.com/v1/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpPattern {
    text: String,
    methods: Vec<&'static str>,
    secure: bool,
    host: HttpHost,
    port: u16,
    path: RequestPath,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum HttpHost {
    /// `*`: every host name, but no IP address.
    Any,
    Named(HostPattern),
    /// One IP address as written in URLs, in brackets for IPv6.
    Address(String),
}

#[derive(Debug, thiserror::Error)]
#[error(
    "`{text}` is not an HTTP pattern: {reason}; write `[METHODS ]https://host[:port][/path]`, such as `GET,POST https://api.example.com/v1/`"
)]
pub struct HttpPatternError {
    text: String,
    reason: String,
}

impl HttpPattern {
    /// Parses a pattern. Without methods it covers GET and HEAD; without a path, all paths.
    pub fn new(text: &str) -> Result<Self, HttpPatternError> {
        let fail = |reason: &str| HttpPatternError {
            text: text.chars().filter(|c| !c.is_control()).take(MAX_LENGTH).collect(),
            reason: reason.to_owned(),
        };
        if text.len() > MAX_LENGTH {
            return Err(fail("it is longer than 512 bytes"));
        }
        let (methods, rest) = match text.split_once(' ') {
            Some((methods, rest)) => (methods_of(methods).map_err(|reason| fail(&reason))?, rest),
            None => (vec!["GET", "HEAD"], text),
        };
        let (secure, rest) = match rest.split_once("://") {
            Some(("https", rest)) => (true, rest),
            Some(("http", rest)) => (false, rest),
            _ => return Err(fail("the scheme is neither `https` nor `http`")),
        };
        let (authority, path) = rest.find('/').map_or((rest, "/"), |at| rest.split_at(at));
        let path = RequestPath::new(path);
        if path.as_str().contains(['?', '#', '%', '*', '\\']) {
            return Err(fail("a path is a plain prefix, without `?`, `#`, `%`, `*` and `\\`"));
        }
        path.check().map_err(|why| fail(&format!("the path {why}")))?;
        let (host, port) = split_port(authority).map_err(|reason| fail(&reason))?;
        let port = port.unwrap_or(if secure { 443 } else { 80 });
        let host = HttpHost::new(host).map_err(|reason| fail(&reason))?;
        let bits = |path: &str| path.len() <= 4 && path[1..].bytes().all(|byte| byte.is_ascii_digit());
        if matches!(host, HttpHost::Address(_)) && path.as_str().len() > 1 && bits(path.as_str()) {
            return Err(fail("networks are not supported: name each address"));
        }
        Ok(Self { text: text.to_owned(), methods, secure, host, port, path })
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether it covers this request. A path that ends in `/` covers everything below it; any other path covers itself, too. A
    /// path that servers could read in different ways is covered only by the root path.
    pub fn covers(&self, target: &HttpTarget) -> bool {
        self.methods.contains(&target.method.as_str())
            && self.secure == target.secure
            && self.port == target.port
            && self.host.covers(&target.host)
            && target.path.is_below(self.path.as_str())
    }

    /// Whether the other pattern covers everything that this one covers. Returns false if it cannot tell.
    pub fn is_within(&self, other: &Self) -> bool {
        self.methods.iter().all(|method| other.methods.contains(method))
            && self.secure == other.secure
            && self.port == other.port
            && self.host.is_within(&other.host)
            && self.path.is_below(other.path.as_str())
    }

    /// The host to name in a grant of a secret. `None` if the pattern has no host name, or if the secret would be sent neither
    /// over TLS nor to this machine.
    pub fn secret_host(&self) -> Option<String> {
        match &self.host {
            HttpHost::Named(pattern) if self.secure || self.is_inside() => Some(pattern.as_str().to_owned()),
            HttpHost::Named(_) | HttpHost::Any | HttpHost::Address(_) => None,
        }
    }

    /// Whether it names this machine, or an address of a private network. Where other names lead is known only after they are
    /// resolved.
    pub fn is_inside(&self) -> bool {
        match &self.host {
            HttpHost::Any => false,
            HttpHost::Named(pattern) => pattern.as_str() == "localhost" || pattern.as_str().ends_with(".localhost"),
            HttpHost::Address(text) => text
                .trim_matches(['[', ']'])
                .parse()
                .is_ok_and(|address: IpAddr| matches!(AddressClass::from_ip(address), AddressClass::Private(_))),
        }
    }

    /// Whether it names exactly one host.
    pub fn names_one_host(&self) -> bool {
        match &self.host {
            HttpHost::Any => false,
            HttpHost::Named(pattern) => !pattern.as_str().starts_with('*'),
            HttpHost::Address(_) => true,
        }
    }
}

impl HttpHost {
    fn new(text: &str) -> Result<Self, String> {
        if text == "*" {
            return Ok(Self::Any);
        }
        let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
        if let Some(address) = bare {
            let address: std::net::Ipv6Addr =
                address.parse().map_err(|_| format!("`{text}` is not an IPv6 address"))?;
            return Ok(Self::Address(format!("[{address}]")));
        }
        if let Ok(address) = text.parse::<std::net::Ipv4Addr>() {
            return Ok(Self::Address(address.to_string()));
        }
        // Some resolvers read other spellings of numbers as addresses.
        if text.rsplit('.').next().is_some_and(|last| last.starts_with(|c: char| c.is_ascii_digit())) {
            return Err(format!("`{text}` looks like an address, but is none"));
        }
        HostPattern::new(text).map(Self::Named).map_err(|error| error.to_string())
    }

    fn is_within(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Any | Self::Named(_), Self::Any) => true,
            (Self::Named(one), Self::Named(other)) => one.is_within(other),
            (Self::Address(one), Self::Address(other)) => one == other,
            (Self::Any, Self::Named(_) | Self::Address(_))
            | (Self::Named(_), Self::Address(_))
            | (Self::Address(_), Self::Any | Self::Named(_)) => false,
        }
    }

    fn covers(&self, host: &str) -> bool {
        let address = host.starts_with('[') || host.parse::<std::net::Ipv4Addr>().is_ok();
        match self {
            Self::Any => !address,
            Self::Named(pattern) => !address && pattern.covers(host),
            Self::Address(own) => own == host,
        }
    }
}

fn methods_of(text: &str) -> Result<Vec<&'static str>, String> {
    let known = |name: &str| METHODS.into_iter().find(|known| *known == name);
    let unknown = |name: &str| format!("`{name}` is none of {}", METHODS.join(", "));
    text.split(',').map(|name| known(name).ok_or_else(|| unknown(name))).collect()
}

fn split_port(authority: &str) -> Result<(&str, Option<u16>), String> {
    if authority.contains('@') {
        return Err("a user or password has no place in it".into());
    }
    let colon =
        authority.rfind(':').filter(|at| !authority.ends_with(']') && authority.rfind(']').is_none_or(|b| b < *at));
    let Some((host, port)) = colon.map(|at| (&authority[..at], &authority[at + 1..])) else {
        return Ok((authority, None));
    };
    match port.parse::<u16>() {
        Ok(port) if port > 0 => Ok((host, Some(port))),
        _ => Err(format!("`{port}` is not a port")),
    }
}

impl FromStr for HttpPattern {
    type Err = HttpPatternError;

    fn from_str(text: &str) -> Result<Self, HttpPatternError> {
        Self::new(text)
    }
}

impl fmt::Display for HttpPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Serialize for HttpPattern {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for HttpPattern {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(method: &str, secure: bool, host: &str, port: u16, path: &str) -> HttpTarget {
        HttpTarget { method: method.into(), secure, host: host.into(), port, path: RequestPath::new(path) }
    }

    fn get(path: &str) -> HttpTarget {
        target("GET", true, "api.example.com", 443, path)
    }

    #[test]
    fn narrower_patterns_lie_within_wider_ones() {
        let within = |one, other| HttpPattern::new(one).unwrap().is_within(&HttpPattern::new(other).unwrap());
        for (one, other) in [
            ("https://a.example/", "https://a.example/"),
            ("GET https://a.example/", "https://a.example/"),
            ("https://a.example/v1/", "https://a.example/"),
            ("https://a.example/v1/x", "https://a.example/v1"),
            ("https://a.example", "https://*"),
            ("https://*.b.a.example", "https://*.a.example"),
            ("https://10.0.0.1", "https://10.0.0.1"),
        ] {
            assert!(within(one, other), "{one} in {other}");
        }
        for (one, other) in [
            ("POST https://a.example/", "https://a.example/"),
            ("https://a.example/", "https://a.example/v1/"),
            ("https://a.example/v1", "https://a.example/v1/"),
            ("https://a.example/v10", "https://a.example/v1"),
            ("http://a.example/", "https://a.example/"),
            ("https://a.example:8443/", "https://a.example/"),
            ("https://*", "https://a.example/"),
            ("https://*.a.example", "https://a.example"),
            ("https://a.example", "https://*.a.example"),
            ("https://10.0.0.1", "https://*"),
        ] {
            assert!(!within(one, other), "{one} in {other}");
        }
    }

    #[test]
    fn everything_must_fit() {
        let pattern = HttpPattern::new("GET,POST https://api.example.com/v1/").unwrap();
        assert!(pattern.covers(&get("/v1/a")) && pattern.covers(&get("/v1/")));
        for other in [
            get("/v1"),
            get("/v10/a"),
            get("/"),
            target("DELETE", true, "api.example.com", 443, "/v1/a"),
            target("GET", false, "api.example.com", 443, "/v1/a"),
            target("GET", true, "example.com", 443, "/v1/a"),
            target("GET", true, "api.example.com", 8443, "/v1/a"),
        ] {
            assert!(!pattern.covers(&other), "{other}");
        }
        let exact = HttpPattern::new("https://api.example.com/v1").unwrap();
        assert!(exact.covers(&get("/v1")) && exact.covers(&get("/v1/a")) && !exact.covers(&get("/v10")));
    }

    #[test]
    fn hidden_separators_fit_no_narrow_path() {
        let narrow = HttpPattern::new("https://api.example.com/v1/").unwrap();
        let wide = HttpPattern::new("https://api.example.com").unwrap();
        for path in ["/v1/%2e%2e/admin", "/v1/%252e%252e/admin", "/v1/..;/admin", "/v1/..%2fadmin", "/v1/..%5cadmin"] {
            assert!(!narrow.covers(&get(path)) && wide.covers(&get(path)), "{path}");
        }
    }

    #[test]
    fn a_star_is_every_name_and_no_address() {
        let any = HttpPattern::new("https://*").unwrap();
        assert!(any.covers(&get("/")) && !any.covers(&target("GET", true, "10.0.0.1", 443, "/")));
        assert!(!any.covers(&target("GET", true, "[::1]", 443, "/")));
        let local = HttpPattern::new("http://[0:0::1]:8080").unwrap();
        assert!(local.covers(&target("GET", false, "[::1]", 8080, "/")));
        assert!(any.names_one_host() != local.names_one_host());
    }

    #[test]
    fn what_is_not_enforced_is_refused() {
        for bad in [
            "api.example.com",
            "ftp://a.b",
            "https://",
            "https://*.com",
            "https://a.*.com",
            "https://user@a.com",
            "https://a.com:0",
            "https://a.com:99999",
            "https://0x7f.1",
            "https://2130706433",
            "https://a.com/x?y=1",
            "https://a.com/*",
            "https://a.com//b",
            "https://a.com/a/../b",
            "https://a.com/a/..;/b",
            "https://a.com/%2e",
            "TRACE https://a.com",
            "get https://a.com",
            "GET, POST https://a.com",
            "https://A.com",
            "https://[::1",
            "https://[fe80::1%25lo]",
            "https://10.0.0.0/8",
        ] {
            assert!(HttpPattern::new(bad).is_err(), "{bad}");
        }
    }
}
