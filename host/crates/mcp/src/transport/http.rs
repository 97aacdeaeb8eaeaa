//! MCP over Streamable HTTP, at `/mcp`; `/health` and `/ready` beside it.
//!
//! A request passes, from the outside in: [`guard`], who may knock; [`admit`], bounds on the body and the gate that
//! closes when the server stops; rmcp's service, which compares the headers with the body and speaks the protocol;
//! for legacy clients [`legacy`], their sessions.

use super::asking::on_behalf_of;
use super::connect;
use super::connections::Connections;
use super::gate::{Gate, health, ready};
use super::guard::{Guard, GuardError, guard};
use super::identity::guarded;
use super::legacy::{LegacyOptions, Sessions};
use super::refusal::Refusal;
use super::weighed::weighed;
use super::{DRAIN, LEAVE, body};
use crate::reverse::retry;
use crate::{Server, vendor};
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use bytesize::ByteSize;
use futures::TryStreamExt as _;
use platform::clock::Clock;
use platform::identity::Authenticator;
use platform::storage::{Storage, StorageError};
use policy::Principal;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use runtime::engine::Heavy;
use services::connections::Broker;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// How often a stream that says nothing shows that it is alive, so that nobody in between closes it.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// The requests that last as long as the client likes.
const LASTING: [&str; 2] = ["subscriptions/listen", vendor::LISTEN];

/// Who may talk to the server, and how much of it.
#[derive(Clone)]
pub struct HttpOptions {
    /// Accepted Host headers: against DNS rebinding.
    pub allowed_hosts: Vec<String>,
    /// Accepted Origin headers; a request of a browser from anywhere else is refused.
    pub allowed_origins: Vec<String>,
    /// The largest body of a request.
    pub max_body: ByteSize,
    /// How clients of the protocol before 2026-07-28 are served.
    pub legacy: LegacyOptions,
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
    #[error(transparent)]
    Guard(#[from] GuardError),
    #[error(transparent)]
    Storage(#[from] StorageError),
    #[error("serving HTTP failed: {0}")]
    Serve(std::io::Error),
}

type McpService = StreamableHttpService<Server, Sessions>;

/// What all requests share.
#[derive(Clone)]
struct Hall {
    gate: Gate,
    max_body: ByteSize,
    /// Set when the server is open.
    mcp: Arc<OnceLock<McpService>>,
}

/// A server that listens: until [`HttpServer::serve`] it is up and not ready.
pub struct HttpServer {
    hall: Hall,
    bound: SocketAddr,
    legacy: LegacyOptions,
    close: CancellationToken,
    serving: JoinHandle<std::io::Result<()>>,
}

impl HttpServer {
    /// Takes the address, and answers for the server's health from now on.
    pub async fn bind(address: SocketAddr, options: HttpOptions) -> Result<Self, HttpError> {
        let bind_error = |source| HttpError::Bind { address, source };
        let listener = TcpListener::bind(address).await.map_err(bind_error)?;
        let bound = listener.local_addr().map_err(bind_error)?;
        let HttpOptions { mut allowed_hosts, mut allowed_origins, max_body, authenticator, broker, legacy } = options;
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
        let guarding = Arc::new(Guard::new(&allowed_hosts, &allowed_origins)?);
        let hall = Hall { gate: Gate::new(), max_body, mcp: Arc::default() };
        let mut router = Router::new()
            .route("/mcp", any(serve_mcp))
            .layer(from_fn_with_state(hall.clone(), admit))
            .route("/health", get(health))
            .route("/ready", get(ready).with_state(hall.gate.clone()))
            .with_state(hall.clone());
        if let Some(broker) = broker {
            router = router.merge(connect::routes(broker, authenticator.clone()));
        }
        let router = guarded(router.fallback(async || Refusal::Path.response()), authenticator)
            .layer(from_fn_with_state(guarding, guard));
        let close = CancellationToken::new();
        let closing = close.clone().cancelled_owned();
        let serving = axum::serve(Connections::new(listener), router).with_graceful_shutdown(closing);
        let serving = tokio::spawn(serving.into_future());
        Ok(Self { hall, bound, legacy, close, serving })
    }

    /// Serves until `stop` is cancelled and calls in flight are done. They have 10 seconds at most, or until `hurry`.
    pub async fn serve(
        self,
        server: Server,
        storage: Storage,
        clock: Arc<dyn Clock>,
        stop: CancellationToken,
        hurry: CancellationToken,
    ) -> Result<(), HttpError> {
        let Self { hall, bound, legacy, close, mut serving } = self;
        let end = CancellationToken::new();
        let (gate, max_body) = (hall.gate.clone(), hall.max_body);
        let sessions = Sessions::open(server.clone(), storage.clone(), clock, legacy, gate, end.clone()).await?;
        let config = StreamableHttpServerConfig::default()
            // Ours stand before it, on every path.
            .disable_allowed_hosts()
            .disable_allowed_origins()
            .with_max_request_body_bytes(usize::try_from(max_body.as_u64()).unwrap_or(usize::MAX))
            .with_sse_keep_alive(Some(KEEP_ALIVE))
            // Streams of legacy clients say themselves where to go on.
            .with_sse_retry(None)
            .with_cancellation_token(end.clone())
            // A call that says nothing before its result is answered as plain JSON; one that does, as a stream.
            .with_json_response(true);
        let service = StreamableHttpService::new(move || Ok(server.session()), Arc::new(sessions), config);
        // It is the first: nobody else sets it.
        let _ = hall.mcp.set(service);
        hall.gate.open();
        tracing::info!("listening on http://{bound}/mcp");
        let failed = |ended: Result<std::io::Result<()>, tokio::task::JoinError>| match ended {
            Ok(result) => result.map_err(HttpError::Serve),
            Err(error) => Err(HttpError::Serve(std::io::Error::other(error))),
        };
        tokio::select! {
            ended = &mut serving => return failed(ended),
            () = stop.cancelled() => {}
        }
        // Requests that help running calls to their end still come through, and whoever asks whether we are ready.
        hall.gate.stop();
        tokio::select! {
            () = hall.gate.done() => {}
            () = tokio::time::sleep(DRAIN) => {
                tracing::warn!("calls still run after {} s: they are cut off", DRAIN.as_secs());
                end.cancel();
            }
            () = hurry.cancelled() => end.cancel(),
        }
        close.cancel();
        let left = tokio::time::timeout(LEAVE, &mut serving).await;
        end.cancel();
        storage.close().await;
        // A connection that does not end is left to end with the process.
        left.map_or(Ok(()), failed)
    }
}

/// Bounds, and the gate.
async fn admit(State(hall): State<Hall>, request: Request, next: Next) -> Response {
    match admitted(&hall, request, next).await {
        Ok(response) => response,
        Err(refusal) => {
            tracing::debug!(%refusal, "refused");
            refusal.response()
        }
    }
}

async fn admitted(hall: &Hall, request: Request, next: Next) -> Result<Response, Refusal> {
    body::check_single(request.headers())?;
    if request.method() != Method::POST {
        // Resuming a stream, or ending a session.
        let work = hall.gate.enter(|| true)?;
        return Ok(Gate::until_sent(work, next.run(request).await));
    }
    let (mut parts, whole) = request.into_parts();
    let text = body::read(whole, hall.max_body).await?;
    let lasts = parts.headers.get("mcp-method").is_some_and(|method| LASTING.iter().any(|lasting| method == lasting));
    let work = hall.gate.enter(|| !body::is_request(&text))?;
    let heavy = Heavy::default();
    parts.extensions.insert(heavy.clone());
    let (headers, sent) = (parts.headers.clone(), text.clone());
    let answer = async move {
        let response = next.run(Request::from_parts(parts, Body::from(sent.clone()))).await;
        if retry::may_follow(&sent) { retried(response).await } else { response }
    };
    let response = heavy.run(Box::pin(answer)).await;
    if response.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE
        && let Some(refusal) = body::explain_unreadable(&headers, &text)
    {
        return Err(refusal);
    }
    let response = weighed(response, heavy);
    Ok(if lasts { hall.gate.until_stopping(response) } else { Gate::until_sent(work, response) })
}

/// An answer that may ask for reverse calls, in the form of their extension.
async fn retried(response: Response) -> Response {
    let (mut parts, body) = response.into_parts();
    if axum::body::HttpBody::size_hint(&body).exact().is_none() {
        let body = Body::from_stream(body.into_data_stream().map_ok(retry::in_frame));
        return Response::from_parts(parts, body);
    }
    // It is in memory as a whole.
    match axum::body::to_bytes(body, usize::MAX).await {
        Ok(whole) => {
            parts.headers.remove(header::CONTENT_LENGTH);
            Response::from_parts(parts, Body::from(retry::in_frame(whole)))
        }
        Err(error) => {
            tracing::error!(%error, "an answer cannot be read");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

/// rmcp's service, on behalf of whoever asks.
async fn serve_mcp(State(hall): State<Hall>, request: Request) -> Response {
    let Some(mcp) = hall.mcp.get() else { return Refusal::Starting.response() };
    let asking = request.extensions().get::<Principal>().cloned().unwrap_or_else(Principal::anonymous);
    let (response, refusal) = on_behalf_of(asking, mcp.handle(request)).await;
    match refusal {
        Some(refusal) => refusal.response(),
        None => response.map(Body::new),
    }
}
