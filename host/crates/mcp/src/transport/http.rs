//! MCP over Streamable HTTP at `/mcp`, with `/health` and `/ready`.
//!
//! A request passes these layers, from the outside in: `guard` checks Host and Origin, `identity` the credential, and
//! `mcp_endpoint` the body; rmcp's service compares the headers with the body and speaks the protocol; `legacy` has the
//! sessions of legacy clients.

use crate::handler::Server;
use crate::transport::account_pages;
use crate::transport::connections::http_connections::serve_connections;
use crate::transport::health::{health, ready};
use crate::transport::legacy::{LegacyOptions, LegacySessionManager};
use crate::transport::mcp_endpoint::{EndpointServer, McpEndpoint, McpService};
use crate::transport::request::guard::{HttpGuard, HttpGuardError, check_host_and_origin};
use crate::transport::request::identity::with_authentication;
use crate::transport::responses::error_body::explain_errors;
use crate::transport::shutdown::{DRAIN_TIMEOUT, FLUSH_TIMEOUT};
use crate::transport::welcome::{ClientAuthentication, index, not_found};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::get;
use bytesize::ByteSize;
use platform::clock::Clock;
use platform::file_descriptors;
use platform::identity::Authenticator;
use platform::storage::{SessionStore, StorageError};
use rmcp::transport::streamable_http_server::StreamableHttpServerConfig;
use services::connections::ConnectionBroker;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::task::{JoinError, JoinHandle};
use tokio_util::sync::CancellationToken;

/// How often an idle stream sends a comment, so that no proxy closes it.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

#[derive(Clone)]
pub struct HttpOptions {
    /// Accepted Host headers. The check protects against DNS rebinding.
    pub allowed_hosts: Vec<String>,
    /// Accepted Origin headers; a browser's request from any other origin is refused.
    pub allowed_origins: Vec<String>,
    pub max_body: ByteSize,
    pub legacy: LegacyOptions,
    /// Without one, all requests are anonymous.
    pub authenticator: Option<Arc<Authenticator>>,
    /// Without one, there are no pages for connecting accounts.
    pub broker: Option<Arc<ConnectionBroker>>,
}

#[derive(Debug, thiserror::Error)]
pub enum HttpServerError {
    #[error("cannot listen on {address}: {source}")]
    Bind { address: SocketAddr, source: std::io::Error },
    #[error(transparent)]
    Guard(#[from] HttpGuardError),
    #[error(transparent)]
    Storage(#[from] StorageError),
    #[error("serving HTTP failed: {0}")]
    Serve(JoinError),
}

/// A server that listens. It is healthy at once, and ready from [`HttpServer::serve`] on.
pub struct HttpServer {
    endpoint: McpEndpoint,
    bound: SocketAddr,
    legacy: LegacyOptions,
    close: CancellationToken,
    serving: JoinHandle<()>,
}

impl HttpServer {
    /// The address that it listens on. If no port was given, it has the one that the system chose.
    pub fn address(&self) -> SocketAddr {
        self.bound
    }

    /// Binds the address and starts to answer `/health`.
    pub async fn bind(address: SocketAddr, options: HttpOptions) -> Result<Self, HttpServerError> {
        let bind_error = |source| HttpServerError::Bind { address, source };
        let listener = TcpListener::bind(address).await.map_err(bind_error)?;
        let bound = listener.local_addr().map_err(bind_error)?;
        let HttpOptions { mut allowed_hosts, mut allowed_origins, max_body, authenticator, broker, legacy } = options;
        if let Some(broker) = &broker {
            // Browsers send an Origin header with the forms of the server's own pages.
            let public = account_pages::set_public_url(broker, bound);
            allowed_hosts.extend(public.host_str().map(str::to_owned));
            allowed_origins.push(public.origin().ascii_serialization());
            match authenticator.as_deref().map(Authenticator::resource) {
                None => tracing::warn!(
                    "without [server.auth], everybody who can use this server shares the connected accounts"
                ),
                Some(Some(_)) if !broker.has_login() => tracing::warn!(
                    "users with tokens of the issuer cannot connect accounts: set [server.auth.oauth.login], so that they can show who they are"
                ),
                Some(_) => {}
            }
        }
        let guard = Arc::new(HttpGuard::new(&allowed_hosts, &allowed_origins)?);
        let endpoint = McpEndpoint::new(max_body, authenticator.is_none());
        let credentials = match &authenticator {
            None => ClientAuthentication::None,
            Some(authenticator) if authenticator.resource().is_none() => ClientAuthentication::Keys,
            Some(_) => ClientAuthentication::OAuth,
        };
        let mut router = endpoint
            .clone()
            .router()
            .route("/", get(index))
            .route("/health", get(health))
            .route("/ready", get(ready).with_state(endpoint.clone()));
        if let Some(broker) = broker {
            router = router.merge(account_pages::routes(broker, authenticator.clone()));
        }
        let router = router.fallback(move |request| not_found(credentials, request));
        let router = with_authentication(router, authenticator)
            .layer(from_fn(explain_errors))
            .layer(from_fn_with_state(guard, check_host_and_origin));
        let (connections, close) = (file_descriptors::shares().connections, CancellationToken::new());
        let serving = tokio::spawn(serve_connections(listener, router, connections, close.clone()));
        Ok(Self { endpoint, bound, legacy, close, serving })
    }

    /// Serves until `stop` is cancelled and running calls have ended. They are cut off after 9 seconds, or as soon as
    /// `force_stop` is cancelled.
    pub async fn serve(
        self,
        server: Server,
        storage: SessionStore,
        clock: Arc<dyn Clock>,
        stop: CancellationToken,
        force_stop: CancellationToken,
    ) -> Result<(), HttpServerError> {
        let Self { endpoint, bound, legacy, close, mut serving } = self;
        let McpEndpoint { lifecycle, max_body, server: slot, .. } = endpoint;
        let end = CancellationToken::new();
        let sessions =
            LegacySessionManager::open(server.clone(), storage.clone(), clock, legacy, lifecycle.clone(), end.clone())
                .await?;
        let config = StreamableHttpServerConfig::default()
            // `guard` checks them for every path.
            .disable_allowed_hosts()
            .disable_allowed_origins()
            .with_max_request_body_bytes(usize::try_from(max_body.as_u64()).unwrap_or(usize::MAX))
            .with_sse_keep_alive(Some(KEEP_ALIVE))
            // The streams of legacy clients send their own retry events.
            .with_sse_retry(None)
            .with_cancellation_token(end.clone())
            // A call that sends nothing before its result is answered as plain JSON, any other as a stream.
            .with_json_response(true);
        let (context, leave_waiting) = (server.context().clone(), sessions.leave_waiting());
        let service = McpService::new(move || Ok(server.with_new_session()), Arc::new(sessions), config);
        // `self` is consumed, so the server is set once.
        let _ = slot.set(EndpointServer { service, context, end: end.clone() });
        lifecycle.set_ready();
        tracing::info!("listening on http://{bound}/mcp");
        let to_result = |ended: Result<(), JoinError>| ended.map_err(HttpServerError::Serve);
        tokio::select! {
            ended = &mut serving => return to_result(ended),
            () = stop.cancelled() => {}
        }
        // From here on, the only requests accepted are those that help running calls to end, and `/health` and `/ready`.
        lifecycle.stop();
        let cut_off = |why: &str| {
            let left = leave_waiting();
            end.cancel();
            tracing::info!(
                left,
                "{why}: calls that wait for their clients go on in the next process, others are cut off"
            );
        };
        tokio::select! {
            () = lifecycle.wait_idle() => {}
            () = tokio::time::sleep(DRAIN_TIMEOUT) => cut_off("calls have not ended in time"),
            () = force_stop.cancelled() => cut_off("stopping at once"),
        }
        close.cancel();
        let ended = tokio::time::timeout(FLUSH_TIMEOUT, &mut serving).await;
        end.cancel();
        storage.close().await;
        // Connections that are still open end with the process.
        ended.map_or(Ok(()), to_result)
    }
}
