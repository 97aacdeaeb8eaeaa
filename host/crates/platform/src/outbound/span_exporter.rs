//! Exports spans to an OpenTelemetry collector in the background, in batches. Spans that cannot be sent are counted.

use super::client::{OutboundClient, OutboundRequest};
use super::endpoint::Endpoint;
use crate::telemetry::{Span, Tracer, otlp};
use reqwest::Method;
use reqwest::header::{self, HeaderMap, HeaderValue};
use std::time::Duration;
use tokio::sync::mpsc::Receiver;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use url::Url;

/// Maximum number of spans in a request. Bounds its size.
const GROUP: usize = 512;
/// How long the first span of a request waits for others.
const LINGER: Duration = Duration::from_secs(1);
/// Timeout of a request. While it runs, spans wait in a bounded queue, and are lost if that is full.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum size of a response.
const MAX_ANSWER: usize = 64 << 10;
/// How long sending the last spans may take during shutdown.
const LAST: Duration = Duration::from_secs(3);

/// Sends spans until it is closed.
pub struct SpanExporter {
    stop: CancellationToken,
    sending: JoinHandle<()>,
}

impl SpanExporter {
    /// Sends ended spans to the collector at this base URL.
    pub fn start(outbound: OutboundClient, endpoint: &Endpoint, tracer: Tracer, ended: Receiver<Span>) -> Self {
        let mut url = endpoint.url().clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(["v1", "traces"]);
        }
        let stop = CancellationToken::new();
        let sending = tokio::spawn(run(outbound, url, tracer, ended, stop.clone()));
        Self { stop, sending }
    }

    /// Sends the remaining spans. Takes at most a few seconds.
    pub async fn close(self) {
        self.stop.cancel();
        if tokio::time::timeout(LAST, self.sending).await.is_err() {
            tracing::warn!("the last spans were not sent: the collector takes too long");
        }
    }
}

async fn run(outbound: OutboundClient, url: Url, tracer: Tracer, mut ended: Receiver<Span>, stop: CancellationToken) {
    let mut failing = false;
    let mut batch = Vec::new();
    loop {
        let first = stop.run_until_cancelled(ended.recv_many(&mut batch, GROUP)).await;
        if first.is_none() {
            ended.close();
            while ended.recv_many(&mut batch, GROUP).await > 0 {}
        } else {
            let gather = async {
                loop {
                    let room = GROUP - batch.len();
                    if room == 0 || ended.recv_many(&mut batch, room).await == 0 {
                        break;
                    }
                }
            };
            let _ = stop.run_until_cancelled(tokio::time::timeout(LINGER, gather)).await;
        }
        if !batch.is_empty() {
            let sent = send(&outbound, &url, &batch).await;
            if let Err(why) = &sent {
                tracer.count_lost(batch.len());
                if !failing {
                    tracing::warn!("spans are lost, the collector does not take them: {why}");
                }
            }
            failing = sent.is_err();
            batch.clear();
        }
        if first.is_none_or(|count| count == 0) {
            return;
        }
    }
}

async fn send(outbound: &OutboundClient, url: &Url, spans: &[Span]) -> Result<(), String> {
    let headers = HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_static(otlp::CONTENT_TYPE))]);
    let (url, body) = (url.clone(), otlp::body(spans));
    let ask = OutboundRequest { method: Method::POST, url, headers, body, timeout: TIMEOUT, max_body: MAX_ANSWER };
    let told = outbound.ask(ask).await.map_err(|error| error.to_string())?;
    if (200..300).contains(&told.status) { Ok(()) } else { Err(format!("status {}", told.status)) }
}
