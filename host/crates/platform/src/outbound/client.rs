//! The client for requests to known services.

use super::tls;
use bytes::Bytes;
use futures::{Stream, TryStreamExt as _};
use reqwest::Method;
use reqwest::header::{HeaderMap, HeaderName};
use std::time::Duration;
use url::Url;

/// A request, and the limits of its response.
pub struct OutboundRequest {
    pub method: Method,
    /// Comes from an `Endpoint`: it uses https, or is on this machine.
    pub url: Url,
    /// Headers besides those that HTTP itself needs.
    pub headers: HeaderMap,
    pub body: Vec<u8>,
    /// Time from connecting to the last byte of the answer.
    pub timeout: Duration,
    pub max_body: usize,
}

/// A response with any status.
pub struct OutboundResponse {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

/// A response whose body is not read yet.
pub struct OpenResponse {
    pub status: u16,
    pub headers: HeaderMap,
    response: reqwest::Response,
}

impl OpenResponse {
    /// The first value of a header, if it is visible text.
    pub fn header(&self, name: &HeaderName) -> Option<String> {
        self.headers.get(name)?.to_str().ok().map(str::to_owned)
    }

    /// The body, in pieces as they arrive. The caller bounds its time and size.
    pub fn into_pieces(self) -> impl Stream<Item = Result<Bytes, OutboundError>> + Send + 'static {
        let origin = origin_of(self.response.url());
        self.response.bytes_stream().map_err(move |error| unreachable(origin.clone(), error))
    }
}

#[derive(Debug, Clone, thiserror::Error)]
pub enum OutboundError {
    #[error("`{0}` gave no answer within {t}", t = humantime::format_duration(*.1))]
    Timeout(String, Duration),
    #[error("the answer of `{0}` is larger than {1} bytes")]
    TooLarge(String, usize),
    #[error("`{0}` cannot be reached: {1}")]
    Unreachable(String, String, Sent),
}

/// Whether a part of a failed request may have reached its server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    /// No connection was made.
    Nothing,
    Perhaps,
}

/// The client. Clones share its connections.
#[derive(Clone)]
pub struct OutboundClient(reqwest::Client);

#[derive(Debug, thiserror::Error)]
#[error(
    "no HTTPS client can be made, which signing in, connected accounts and fetching plugins need: {0}; is the package ca-certificates installed?"
)]
pub struct ClientBuildError(String);

impl OutboundClient {
    /// Creates a client that uses the certificates that this machine trusts.
    pub fn new() -> Result<Self, ClientBuildError> {
        Self::build(base_client()).map(Self)
    }

    pub(super) fn build(builder: reqwest::ClientBuilder) -> Result<reqwest::Client, ClientBuildError> {
        // This fails if the same provider is installed already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        builder.build().map_err(|error| ClientBuildError(error_chain(&error)))
    }

    pub async fn ask(&self, ask: OutboundRequest) -> Result<OutboundResponse, OutboundError> {
        let OutboundRequest { method, url, headers, body, timeout, max_body } = ask;
        let origin = origin_of(&url);
        match tokio::time::timeout(timeout, self.exchange(method, url, headers, body, max_body)).await {
            Ok(told) => told,
            Err(_) => Err(OutboundError::Timeout(origin, timeout)),
        }
    }

    async fn exchange(
        &self,
        method: Method,
        url: Url,
        headers: HeaderMap,
        body: Vec<u8>,
        max_body: usize,
    ) -> Result<OutboundResponse, OutboundError> {
        let origin = origin_of(&url);
        let OpenResponse { status, headers, mut response } = self.open(method, url, headers, body).await?;
        let mut body = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(|error| unreachable(origin.clone(), error))? {
            if body.len() + piece.len() > max_body {
                return Err(OutboundError::TooLarge(origin, max_body));
            }
            body.extend_from_slice(&piece);
        }
        Ok(OutboundResponse { status, headers, body })
    }

    /// Sends a request, and returns as soon as the head of its response has arrived. The caller bounds the time.
    pub async fn open(
        &self,
        method: Method,
        url: Url,
        headers: HeaderMap,
        body: Vec<u8>,
    ) -> Result<OpenResponse, OutboundError> {
        let origin = origin_of(&url);
        let request = self.0.request(method, url).headers(headers).body(body);
        let response = request.send().await.map_err(|error| unreachable(origin, error))?;
        Ok(OpenResponse { status: response.status().as_u16(), headers: response.headers().clone(), response })
    }
}

fn unreachable(origin: String, error: reqwest::Error) -> OutboundError {
    let sent = if error.is_connect() { Sent::Nothing } else { Sent::Perhaps };
    OutboundError::Unreachable(origin, error_chain(&error.without_url()), sent)
}

/// The settings that all clients have in common.
pub(super) fn base_client() -> reqwest::ClientBuilder {
    reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .referer(false)
        .connect_timeout(Duration::from_secs(10))
        .pool_idle_timeout(Duration::from_secs(60))
        .user_agent(concat!("portcullis/", env!("CARGO_PKG_VERSION")))
}

/// The origin of a URL, for errors: its path and query may contain secrets.
pub(super) fn origin_of(url: &Url) -> String {
    url.origin().ascii_serialization()
}

/// An error with its causes in one line. For a TLS error only the reason is given.
pub(super) fn error_chain(error: &(dyn std::error::Error + 'static)) -> String {
    if let Some(reason) = tls::reason(error) {
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
