//! A model behind a chat completions endpoint.

use super::key::{self, KeyError};
use super::rate_limit::{MinuteRateLimit, RateLimited};
use super::settings::ModelSettings;
use super::{request, response};
use async_trait::async_trait;
use platform::clock::Clock;
use platform::outbound::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use platform::outbound::{ClientBuildError, Method, OutboundClient, OutboundError, OutboundRequest};
use runtime::imports::{ModelAnswer, ModelError, ModelProvider, SampleRequest};
use std::sync::Arc;
use std::time::Duration;
use url::Url;

/// Size of a response in bytes. Bounds the host's memory; many times what `max-tokens` allows.
const MAX_ANSWER: usize = 4 << 20;

pub struct ChatModel {
    outbound: OutboundClient,
    url: Url,
    name: String,
    headers: HeaderMap,
    max_tokens: u32,
    timeout: Duration,
    rate: MinuteRateLimit,
}

/// The configured model cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ModelSetupError {
    #[error(transparent)]
    Key(#[from] KeyError),
    #[error("[model]: {0}")]
    Outbound(#[from] ClientBuildError),
}

impl ChatModel {
    /// Reads the key; sends nothing yet.
    pub fn open(settings: &ModelSettings, clock: Arc<dyn Clock>) -> Result<Self, ModelSetupError> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(path) = &settings.key_file {
            headers.insert(AUTHORIZATION, key::read(path)?);
        }
        let mut url = settings.url.url().clone();
        // Fails only for URLs that cannot have a path, such as `mailto:`; an `Endpoint` is none of those.
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(["chat", "completions"]);
        }
        let rate = MinuteRateLimit::new(settings.calls_per_minute, clock);
        let (name, max_tokens, timeout) = (settings.name.clone(), settings.max_tokens, settings.timeout);
        Ok(Self { outbound: OutboundClient::new()?, url, name, headers, max_tokens, timeout, rate })
    }
}

#[async_trait]
impl ModelProvider for ChatModel {
    async fn sample(&self, request: &SampleRequest, timeout: Duration) -> Result<ModelAnswer, ModelError> {
        let body = request::body(request, &self.name, self.max_tokens).map_err(ModelError::Invalid)?.to_string();
        self.rate.take().map_err(|RateLimited(limit)| ModelError::RateLimited(limit))?;
        let outbound_request = OutboundRequest {
            method: Method::POST,
            url: self.url.clone(),
            headers: self.headers.clone(),
            body: body.into_bytes(),
            timeout: self.timeout.min(timeout),
            max_body: MAX_ANSWER,
        };
        let response = self.outbound.ask(outbound_request).await.map_err(|error| match error {
            OutboundError::Timeout(_, limit) => ModelError::Timeout(limit),
            OutboundError::TooLarge(..) => failed("the host's model answered too much", error.to_string()),
            OutboundError::Unreachable(..) => failed("the host's model cannot be reached", error.to_string()),
        })?;
        if response.status != 200 {
            let what = format!("the host's model answered with HTTP status {}", response.status);
            return Err(failed(what, advice(response.status).to_owned()));
        }
        response::read(&response.body, &self.name)
            .map_err(|why| failed("the host's model answered with an invalid response", why))
    }
}

fn failed(what: impl Into<String>, why: String) -> ModelError {
    ModelError::Failed { what: what.into(), why }
}

/// Advice to the operator for a status. The body is not shown, since it may repeat the request.
fn advice(status: u16) -> &'static str {
    match status {
        300..=399 => "redirects are not followed; write the final address as [model] url",
        401 | 403 => "it does not accept the key; see [model] key-file",
        404 => "see whether [model] url ends before /chat/completions, and whether it has a model of this name",
        429 => "too many requests; see [model] calls-per-minute",
        _ => "its own log may say why",
    }
}
