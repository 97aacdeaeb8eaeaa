//! Serves `/metrics` on its own address, so that a client that may call tools does not see what others do.

use crate::transport::connections::http_connections::serve_connections;
use crate::transport::http::HttpServerError;
use crate::transport::request::guard::{HttpGuard, check_host_and_origin};
use crate::transport::responses::refusal::HttpRefusal;
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

/// The text format of OpenMetrics, which Prometheus prefers.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Connections of collectors. They are apart from those of clients, so that many clients cannot keep metrics from being read.
const MAX_CONNECTIONS: usize = 32;

/// Serves metrics until `stop` is cancelled. Requests must name one of `hosts`, or the address itself.
pub async fn serve_metrics(
    address: SocketAddr,
    hosts: &[String],
    metrics: Arc<Metrics>,
    stop: CancellationToken,
) -> Result<(), HttpServerError> {
    let bind_error = |source| HttpServerError::Bind { address, source };
    let listener = TcpListener::bind(address).await.map_err(bind_error)?;
    let bound = listener.local_addr().map_err(bind_error)?;
    let hosts: Vec<String> = hosts.iter().cloned().chain([bound.ip().to_string()]).collect();
    let guard = Arc::new(HttpGuard::new(&hosts, &[])?);
    let router = Router::new()
        .route("/metrics", get(metrics_text))
        .with_state(metrics)
        .fallback(async || HttpRefusal::Path.response())
        .layer(from_fn_with_state(guard, check_host_and_origin));
    tracing::info!("metrics on http://{bound}/metrics");
    tokio::spawn(serve_connections(listener, router, MAX_CONNECTIONS, stop));
    Ok(())
}

async fn metrics_text(State(metrics): State<Arc<Metrics>>) -> ([(axum::http::HeaderName, &'static str); 1], String) {
    ([(CONTENT_TYPE, OPEN_METRICS)], metrics.text())
}
