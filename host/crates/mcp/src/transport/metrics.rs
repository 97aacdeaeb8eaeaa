//! `/metrics` at an address of its own, so that whoever may call tools need not see what others do.

use super::connections::Connections;
use super::guard::{Guard, guard};
use super::http::HttpError;
use super::refusal::Refusal;
use axum::Router;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::middleware::from_fn_with_state;
use axum::routing::get;
use platform::telemetry::Metrics;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// The text format of OpenMetrics, which Prometheus asks for first.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Serves counters until `stop` is cancelled. Requests must name one of `hosts`, or the address itself.
pub async fn serve_metrics(
    address: SocketAddr,
    hosts: &[String],
    metrics: Arc<Metrics>,
    stop: CancellationToken,
) -> Result<(), HttpError> {
    let bind_error = |source| HttpError::Bind { address, source };
    let listener = TcpListener::bind(address).await.map_err(bind_error)?;
    let bound = listener.local_addr().map_err(bind_error)?;
    let hosts: Vec<String> = hosts.iter().cloned().chain([bound.ip().to_string()]).collect();
    let guarding = Arc::new(Guard::new(&hosts, &[])?);
    let router = Router::new()
        .route("/metrics", get(text))
        .with_state(metrics)
        .fallback(async || Refusal::Path.response())
        .layer(from_fn_with_state(guarding, guard));
    tracing::info!("metrics on http://{bound}/metrics");
    let serving = axum::serve(Connections::new(listener), router).with_graceful_shutdown(stop.cancelled_owned());
    tokio::spawn(async move {
        if let Err(error) = serving.await {
            tracing::error!(%error, "metrics are not served any more");
        }
    });
    Ok(())
}

async fn text(State(metrics): State<Arc<Metrics>>) -> ([(axum::http::HeaderName, &'static str); 1], String) {
    ([(CONTENT_TYPE, OPEN_METRICS)], metrics.text())
}
