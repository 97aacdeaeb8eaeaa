//! URLs that a secret may be sent to.

use crate::telemetry::printable;
use url::Url;

/// A URL that a secret may be sent to: https, or plain http to this machine, for tests and tools.
#[derive(Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// The URL as it was written, because issuers are compared byte by byte.
    text: String,
    url: Url,
}

/// Why a text is not an [`Endpoint`].
#[derive(Debug, thiserror::Error)]
#[error(
    "`{0}` is not a usable address: write an https:// URL without user, password and fragment; http:// is for 127.0.0.1, [::1] and localhost only"
)]
pub struct EndpointError(String);

impl Endpoint {
    pub fn new(text: &str) -> Result<Self, EndpointError> {
        let fail = || EndpointError(printable(text).into_owned());
        let url = Url::parse(text).map_err(|_| fail())?;
        let host = url.host_str().unwrap_or_default();
        let safe = match url.scheme() {
            "https" => !host.is_empty(),
            "http" => is_loopback(host),
            _ => false,
        };
        let plain = url.username().is_empty() && url.password().is_none() && url.fragment().is_none();
        if safe && plain { Ok(Self { text: text.to_owned(), url }) } else { Err(fail()) }
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub fn url(&self) -> &Url {
        &self.url
    }

    pub fn host(&self) -> &str {
        self.url.host_str().unwrap_or_default()
    }

    /// Whether it is on this machine.
    pub fn is_local(&self) -> bool {
        is_loopback(self.host())
    }
}

fn is_loopback(host: &str) -> bool {
    matches!(host, "127.0.0.1" | "[::1]" | "localhost")
}

impl std::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::fmt::Display for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl<'de> serde::Deserialize<'de> for Endpoint {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_go_nowhere_in_the_clear() {
        for good in ["https://a.example/x?y=1", "http://127.0.0.1:8080/", "http://localhost", "http://[::1]:1/"] {
            assert_eq!(Endpoint::new(good).unwrap().as_str(), good);
        }
        for bad in [
            "http://a.example/",
            "http://127.0.0.1.evil.example/",
            "http://localhost.evil.example/",
            "http://127.0.0.2/",
            "ftp://a.example/",
            "https://me@a.example/",
            "https://me:secret@a.example/",
            "https://a.example/#x",
            "a.example",
            "file:///etc/passwd",
            "",
        ] {
            assert!(Endpoint::new(bad).is_err(), "{bad}");
        }
    }
}
