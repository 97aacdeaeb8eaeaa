//! The only place that speaks HTTP to others: issuers of tokens, the services that users connect, and, more warily,
//! where plugins are published.
//!
//! Nothing is followed and nothing is guessed: no redirects, no proxies from the environment, no cookies, and every
//! exchange is bounded in time and size. Where a secret goes must be an [`Endpoint`].

mod collector;
mod credential;
mod exchange;
mod guarded;
mod network;
mod trust;

pub use exchange::{ExchangeError, Exchanged, Exchanger, Place, Streamed};
pub use hyper::body::{Body, Frame, SizeHint};
pub use network::{Network, SystemNetwork};

use reqwest::header::HeaderMap;
use std::time::Duration;
use url::Url;

pub use collector::Collector;
pub use credential::credential;
pub use guarded::{Guarded, Near, Visit, VisitError};
pub use reqwest::Method;
pub use reqwest::header;

/// A URL that may be trusted with a secret: https, or plain http to this machine itself, which is for tests and tools.
#[derive(Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// As it was written, since issuers are compared letter by letter.
    text: String,
    url: Url,
}

/// Why a text is no [`Endpoint`].
#[derive(Debug, thiserror::Error)]
#[error(
    "`{0}` is not a usable address: write an https:// URL without user, password and fragment; http:// is for 127.0.0.1, [::1] and localhost only"
)]
pub struct EndpointError(String);

impl Endpoint {
    /// Checks a text.
    pub fn new(text: &str) -> Result<Self, EndpointError> {
        let fail = || EndpointError(crate::telemetry::printable(text).into_owned());
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

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Parsed.
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// Its host, for people.
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

/// One request, and how much of an answer is borne.
pub struct Ask {
    /// Such as GET.
    pub method: Method,
    /// Where; https, or on this machine, as it comes from an [`Endpoint`].
    pub url: Url,
    /// Besides those that HTTP itself needs.
    pub headers: HeaderMap,
    /// The body.
    pub body: Vec<u8>,
    /// From connecting to the last byte of the answer.
    pub timeout: Duration,
    /// Of the answer's body.
    pub max_body: usize,
}

/// An answer, whatever its status.
pub struct Told {
    /// Such as 200.
    pub status: u16,
    /// As they came.
    pub headers: HeaderMap,
    /// Whole.
    pub body: Vec<u8>,
}

/// Why there is no answer.
#[derive(Debug, Clone, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's sentence says what its fields are")]
pub enum AskError {
    #[error("`{0}` gave no answer within {t}", t = humantime::format_duration(*.1))]
    Timeout(String, Duration),
    #[error("the answer of `{0}` is larger than {1} bytes")]
    TooLarge(String, usize),
    #[error("`{0}` cannot be reached: {1}")]
    Unreachable(String, String),
}

/// The client. Clones share its connections.
#[derive(Clone)]
pub struct Outbound(reqwest::Client);

/// TLS could not be set up.
#[derive(Debug, thiserror::Error)]
#[error(
    "no HTTPS client can be made, which signing in, connected accounts and fetching plugins need: {0}; is the package ca-certificates installed?"
)]
pub struct OutboundError(String);

impl Outbound {
    /// With the certificates that this machine trusts.
    pub fn new() -> Result<Self, OutboundError> {
        Self::made(base_client()).map(Self)
    }

    fn made(builder: reqwest::ClientBuilder) -> Result<reqwest::Client, OutboundError> {
        // Whoever was first has installed the same one.
        let _ = rustls::crypto::ring::default_provider().install_default();
        builder.build().map_err(|error| OutboundError(reasons(&error)))
    }

    /// The client itself, for a library that speaks a protocol over it: nothing is followed and nothing is guessed there
    /// either. What comes back must be bounded by whoever asks.
    pub fn client(&self) -> reqwest::Client {
        self.0.clone()
    }

    /// Asks once.
    pub async fn ask(&self, ask: Ask) -> Result<Told, AskError> {
        let Ask { method, url, headers, body, timeout, max_body } = ask;
        let place = place(&url);
        match tokio::time::timeout(timeout, self.exchange(method, url, headers, body, max_body)).await {
            Ok(told) => told,
            Err(_) => Err(AskError::Timeout(place, timeout)),
        }
    }

    async fn exchange(
        &self,
        method: Method,
        url: Url,
        headers: HeaderMap,
        body: Vec<u8>,
        max_body: usize,
    ) -> Result<Told, AskError> {
        let place = place(&url);
        let lost = |error: reqwest::Error| AskError::Unreachable(place.clone(), reasons(&error.without_url()));
        let request = self.0.request(method, url).headers(headers).body(body);
        let mut response = request.send().await.map_err(lost)?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let mut body = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(lost)? {
            if body.len() + piece.len() > max_body {
                return Err(AskError::TooLarge(place, max_body));
            }
            body.extend_from_slice(&piece);
        }
        Ok(Told { status, headers, body })
    }
}

/// What holds for every client.
fn base_client() -> reqwest::ClientBuilder {
    reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .referer(false)
        .connect_timeout(Duration::from_secs(10))
        .pool_idle_timeout(Duration::from_secs(60))
        .user_agent(concat!("portcullis/", env!("CARGO_PKG_VERSION")))
}

/// A URL as errors name it: a path or a query may hold what is nobody's business.
fn place(url: &Url) -> String {
    url.origin().ascii_serialization()
}

/// An error with its causes, in one line; what is wrong with TLS alone, if it is that.
fn reasons(error: &(dyn std::error::Error + 'static)) -> String {
    if let Some(reason) = trust::reason(error) {
        return reason;
    }
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
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
