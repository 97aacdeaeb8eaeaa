//! Sending spans to a collector, behind everybody's back: in batches, never waited for, counted when they are not taken.

use super::header::{self, HeaderMap, HeaderValue};
use super::{Ask, Endpoint, Method, Outbound};
use crate::telemetry::{Span, Tracer, otlp};
use std::time::Duration;
use tokio::sync::mpsc::Receiver;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use url::Url;

/// Spans of one request. Bounds its size.
const GROUP: usize = 512;
/// How long the first span of a request waits for others.
const LINGER: Duration = Duration::from_secs(1);
/// How long a collector may take. Meanwhile spans wait in a bounded queue, and are lost when it is full.
const TIMEOUT: Duration = Duration::from_secs(10);
/// What of an answer is read.
const MAX_ANSWER: usize = 64 << 10;
/// How long the last spans may take when the host ends.
const LAST: Duration = Duration::from_secs(3);

/// Sends spans for as long as it lives.
pub struct Collector {
    stop: CancellationToken,
    sending: JoinHandle<()>,
}

impl Collector {
    /// Sends what ends to the collector below this address.
    pub fn start(outbound: Outbound, endpoint: &Endpoint, tracer: Tracer, ended: Receiver<Span>) -> Self {
        let mut url = endpoint.url().clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(["v1", "traces"]);
        }
        let stop = CancellationToken::new();
        let sending = tokio::spawn(run(outbound, url, tracer, ended, stop.clone()));
        Self { stop, sending }
    }

    /// Sends what is left, within some seconds.
    pub async fn close(self) {
        self.stop.cancel();
        if tokio::time::timeout(LAST, self.sending).await.is_err() {
            tracing::warn!("the last spans were not sent: the collector takes too long");
        }
    }
}

async fn run(outbound: Outbound, url: Url, tracer: Tracer, mut ended: Receiver<Span>, stop: CancellationToken) {
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

async fn send(outbound: &Outbound, url: &Url, spans: &[Span]) -> Result<(), String> {
    let headers = HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_static(otlp::CONTENT_TYPE))]);
    let (url, body) = (url.clone(), otlp::body(spans));
    let ask = Ask { method: Method::POST, url, headers, body, timeout: TIMEOUT, max_body: MAX_ANSWER };
    let told = outbound.ask(ask).await.map_err(|error| error.to_string())?;
    if (200..300).contains(&told.status) { Ok(()) } else { Err(format!("status {}", told.status)) }
}
