//! A model of the host's own, for plugins that may ask one when their client has none: an endpoint that takes OpenAI's
//! chat completions, as most servers of models do.
//!
//! Off unless `[model]` is configured, and then for those plugins only whose grant says `client.sample.fallback`.

mod answer;
mod key;
mod rate;
mod request;
mod settings;

pub use key::KeyError;
pub use settings::ModelSettings;

use async_trait::async_trait;
use platform::clock::Clock;
use platform::outbound::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use platform::outbound::{Ask, AskError, Method, Outbound, OutboundError};
use rate::{Crowded, PerMinute};
use runtime::imports::{ModelError, ModelProvider, SampleRequest, Sampled};
use std::sync::Arc;
use std::time::Duration;
use url::Url;

/// The largest answer that is read. Bounds the host's memory; many times what `max-tokens` allows.
const MAX_ANSWER: usize = 4 << 20;

/// The endpoint.
pub struct ChatModel {
    outbound: Outbound,
    url: Url,
    name: String,
    headers: HeaderMap,
    max_tokens: u32,
    timeout: Duration,
    rate: PerMinute,
}

/// A model that cannot be asked as it is configured.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's sentence is that of the error inside")]
pub enum ModelSetupError {
    #[error(transparent)]
    Key(#[from] KeyError),
    #[error("[model]: {0}")]
    Outbound(#[from] OutboundError),
}

impl ChatModel {
    /// Reads the key; the endpoint itself is not asked anything yet.
    pub fn open(settings: &ModelSettings, clock: Arc<dyn Clock>) -> Result<Self, ModelSetupError> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(path) = &settings.key_file {
            headers.insert(AUTHORIZATION, key::read(path)?);
        }
        let mut url = settings.url.url().clone();
        // Only addresses without a path of segments refuse, such as `mailto:`; an `Endpoint` is none.
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(["chat", "completions"]);
        }
        let rate = PerMinute::new(settings.calls_per_minute, clock);
        let (name, max_tokens, timeout) = (settings.name.clone(), settings.max_tokens, settings.timeout);
        Ok(Self { outbound: Outbound::new()?, url, name, headers, max_tokens, timeout, rate })
    }
}

#[async_trait]
impl ModelProvider for ChatModel {
    async fn sample(&self, request: &SampleRequest, patience: Duration) -> Result<Sampled, ModelError> {
        let body = request::body(request, &self.name, self.max_tokens).map_err(ModelError::Invalid)?.to_string();
        self.rate.take().map_err(|Crowded(limit)| ModelError::Crowded(limit))?;
        let ask = Ask {
            method: Method::POST,
            url: self.url.clone(),
            headers: self.headers.clone(),
            body: body.into_bytes(),
            timeout: self.timeout.min(patience),
            max_body: MAX_ANSWER,
        };
        let told = self.outbound.ask(ask).await.map_err(|error| match error {
            AskError::Timeout(_, limit) => ModelError::Timeout(limit),
            AskError::TooLarge(..) => failed("the host's model answered too much", error.to_string()),
            AskError::Unreachable(..) => failed("the host's model cannot be reached", error.to_string()),
        })?;
        if told.status != 200 {
            let what = format!("the host's model answered with HTTP status {}", told.status);
            return Err(failed(what, advice(told.status).to_owned()));
        }
        answer::read(&told.body, &self.name).map_err(|why| failed("the host's model answered with nonsense", why))
    }
}

fn failed(what: impl Into<String>, why: String) -> ModelError {
    ModelError::Failed { what: what.into(), why }
}

/// What an operator can do about a status. The body is not shown: it may repeat what was asked.
fn advice(status: u16) -> &'static str {
    match status {
        300..=399 => "redirects are not followed; write the final address as [model] url",
        401 | 403 => "it does not accept the key; see [model] key-file",
        404 => "see whether [model] url ends before /chat/completions, and whether it has a model of this name",
        429 => "it is asked too much; see [model] calls-per-minute",
        _ => "its own log may say why",
    }
}

#[cfg(test)]
mod tests;
