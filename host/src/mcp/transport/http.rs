//! MCP over Streamable HTTP, at `/mcp`.

use super::connect;
use super::identity::guarded;
use crate::connections::Broker;
use crate::identity::Authenticator;
use crate::mcp::Server;
use axum::Router;
use axum::serve::ListenerExt;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// How long calls in flight may go on after the stop signal.
const DRAIN: Duration = Duration::from_secs(5);

/// Who may talk to the server.
#[derive(Clone)]
pub struct HttpOptions {
    /// Accepted Host headers: against DNS rebinding.
    pub allowed_hosts: Vec<String>,
    /// Accepted Origin headers; a request of a browser from anywhere else is refused.
    pub allowed_origins: Vec<String>,
    /// Finds out who sends a request; none: nobody is asked.
    pub authenticator: Option<Arc<Authenticator>>,
    /// Whose pages are served; none: there are no accounts to connect.
    pub broker: Option<Arc<Broker>>,
}

/// The server could not start or broke.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's sentence says what its fields are")]
pub enum HttpError {
    #[error("cannot listen on {address}: {source}")]
    Bind { address: SocketAddr, source: std::io::Error },
    #[error("serving HTTP failed: {0}")]
    Serve(std::io::Error),
}

/// Serves until `stop` is cancelled and calls in flight are done.
pub async fn serve_http(
    server: Server,
    address: SocketAddr,
    options: HttpOptions,
    stop: CancellationToken,
) -> Result<(), HttpError> {
    let bind_error = |source| HttpError::Bind { address, source };
    let listener = TcpListener::bind(address).await.map_err(bind_error)?;
    let bound = listener.local_addr().map_err(bind_error)?;
    let HttpOptions { mut allowed_hosts, mut allowed_origins, authenticator, broker } = options;
    if let Some(broker) = &broker {
        // Browsers say where a form comes from: our own pages.
        let public = connect::settle(broker, bound);
        allowed_hosts.extend(public.host_str().map(str::to_owned));
        allowed_origins.push(public.origin().ascii_serialization());
        if authenticator.is_none() {
            tracing::warn!(
                "accounts are connected for everybody who can use this server: [server.auth] keeps people apart"
            );
        }
    }
    let sessions = CancellationToken::new();
    let config = StreamableHttpServerConfig::default()
        .with_allowed_hosts(allowed_hosts)
        .with_allowed_origins(allowed_origins)
        .enforce_origin_validation()
        .with_cancellation_token(sessions.clone())
        // A call that says nothing before its result is answered as plain JSON; one that does, as a stream.
        .with_json_response(true);
    let service =
        StreamableHttpService::new(move || Ok(server.session()), Arc::new(LocalSessionManager::default()), config);
    let router = Router::new().nest_service("/mcp", service);
    let router = match broker {
        Some(broker) => router.merge(connect::routes(broker, authenticator.clone())),
        None => router,
    };
    let router = guarded(router, authenticator).map_err(HttpError::Serve)?;
    let listener = listener.tap_io(|connection| {
        // Without it small answers wait for the client's delayed acknowledgement, some 40 ms.
        if let Err(error) = connection.set_nodelay(true) {
            tracing::debug!(%error, "TCP_NODELAY");
        }
    });
    tracing::info!("listening on http://{bound}/mcp");
    let stopping = async move {
        stop.cancelled().await;
        tokio::spawn(async move {
            tokio::time::sleep(DRAIN).await;
            sessions.cancel();
        });
    };
    axum::serve(listener, router).with_graceful_shutdown(stopping).await.map_err(HttpError::Serve)
}
