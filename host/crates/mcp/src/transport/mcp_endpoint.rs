//! `/mcp`: limits on the request, the lifecycle of the server, then rmcp's HTTP service.

use crate::client_tools::retry;
use crate::direct_call::{DirectCall, DirectResponse};
use crate::handler::Server;
use crate::request_context::{LargeAnswer, RequestText};
use crate::server_context::ServerContext;
use crate::subscriptions::task_listen::{self, LISTEN_METHOD};
use crate::transport::connections::connection_table::{ConnectionPhase, ServedConnection};
use crate::transport::connections::serving_shares::ShareUsed;
use crate::transport::legacy::LegacySessionManager;
use crate::transport::request::body;
use crate::transport::request::lifecycle::Lifecycle;
use crate::transport::request::request_scope::with_principal;
use crate::transport::request::task_route;
use crate::transport::responses::accept::{self, Accepted};
use crate::transport::responses::error_body::answer as answer_error;
use crate::transport::responses::large_answer::{serialize, serialize_body};
use crate::transport::responses::refusal::HttpRefusal;
use crate::transport::responses::response::json_response;
use crate::transport::responses::sent_text::SentText;
use crate::unreadable::Unreadable;
use axum::Router;
use axum::body::{Body, HttpBody as _, to_bytes};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{Extensions, Method, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use bytes::Bytes;
use bytesize::ByteSize;
use futures::TryStreamExt as _;
use policy::Principal;
use protocol::json_text::memory_of;
use protocol::names::REVERSE_LISTEN_METHOD;
use rmcp::transport::common::http_header::HEADER_SESSION_ID;
use rmcp::transport::streamable_http_server::StreamableHttpService;
use std::sync::{Arc, OnceLock};
use tokio_util::sync::CancellationToken;

/// Requests that last until the client or the server ends them.
const LONG_LIVED_METHODS: [&str; 2] = [LISTEN_METHOD, REVERSE_LISTEN_METHOD];

pub(super) type McpService = StreamableHttpService<Server, LegacySessionManager>;

/// The server that requests are passed to.
pub(super) struct EndpointServer {
    pub(super) service: McpService,
    pub(super) context: Arc<ServerContext>,
    /// Cancelled when the server does not wait for running calls any longer.
    pub(super) end: CancellationToken,
}

/// Clones share the lifecycle and the server.
#[derive(Clone)]
pub(super) struct McpEndpoint {
    pub(super) lifecycle: Lifecycle,
    pub(super) max_body: ByteSize,
    /// Whether everybody who can send requests may know why a plugin is missing.
    pub(super) tells_why: bool,
    /// Set before the server becomes ready.
    pub(super) server: Arc<OnceLock<EndpointServer>>,
}

impl McpEndpoint {
    pub(super) fn new(max_body: ByteSize, tells_why: bool) -> Self {
        Self { lifecycle: Lifecycle::new(), max_body, tells_why, server: Arc::default() }
    }

    pub(super) fn router(self) -> Router {
        Router::new()
            .route("/mcp", any(serve_mcp))
            .layer(from_fn_with_state(self.clone(), check_request))
            .with_state(self)
    }
}

async fn check_request(State(endpoint): State<McpEndpoint>, request: Request, next: Next) -> Response {
    let mut sent = SentText::default();
    let response = endpoint.forward(request, next, &mut sent).await.unwrap_or_else(|refusal| {
        tracing::debug!(%refusal, "request refused");
        refusal.response()
    });
    answer_error(response, &sent).await
}

impl McpEndpoint {
    /// `sent` gets what was read of the body.
    async fn forward(&self, mut request: Request, next: Next, sent: &mut SentText) -> Result<Response, HttpRefusal> {
        let headers = body::check_headers(request.headers());
        let accepted = accept::complete(request.headers_mut());
        if request.method() != Method::POST {
            // The request resumes a stream, or ends a session.
            headers?;
            if request.method() == Method::GET && accepted == Accepted::JsonOnly {
                return Err(HttpRefusal::NeedsEvents);
            }
            let active = self.lifecycle.accept_when_started(|| true).await?;
            count_for_principal(request.extensions())?;
            let ends_session = request.method() == Method::DELETE;
            let response = match next.run(request).await {
                // rmcp answers with 202. But the session has ended already, and the Python SDK warns its user of a 202.
                response if ends_session && response.status() == StatusCode::ACCEPTED => {
                    StatusCode::NO_CONTENT.into_response()
                }
                response => response,
            };
            return Ok(Lifecycle::hold_until_sent(active, response));
        }
        let (mut parts, whole) = request.into_parts();
        let connection = parts.extensions.get::<Arc<ServedConnection>>().cloned();
        let text = body::read(whole, self.max_body, connection.as_ref(), sent).await;
        headers?;
        let text = text?;
        if let Some(connection) = connection {
            connection.begin(ConnectionPhase::Serving).await;
            let held = connection.hold_served(&principal_of(&parts.extensions), memory_of(&text));
            if let Some(held) = held.map_err(refusal)? {
                parts.extensions.insert(Arc::new(held));
            }
        }
        count_for_principal(&parts.extensions)?;
        task_route::complete(&mut parts.headers, &text);
        let method = parts.headers.get("mcp-method");
        let is_long_lived = method.is_some_and(|method| LONG_LIVED_METHODS.iter().any(|it| method == it));
        if is_long_lived && accepted == Accepted::JsonOnly {
            return Err(HttpRefusal::NeedsEvents);
        }
        let text = match is_long_lived.then(|| task_listen::pass_on(&text)).flatten() {
            Some(passed_on) => {
                parts.headers.insert(header::CONTENT_LENGTH, passed_on.len().into());
                Bytes::from(passed_on)
            }
            None => text,
        };
        let active = self.lifecycle.accept_when_started(|| !body::is_request(&text)).await?;
        if let Some(response) = self.respond_directly(&parts, &text).await {
            return Ok(response);
        }
        if let Some(wrong) = Unreadable::of_cursor(&text) {
            return Err(HttpRefusal::Unreadable(wrong));
        }
        let answer = LargeAnswer::default();
        parts.extensions.insert(answer.clone());
        if parts.headers.contains_key(HEADER_SESSION_ID)
            && let Some(text) = RequestText::new(&text)
        {
            parts.extensions.insert(text);
        }
        let (media_type, sent) = (parts.headers.get(header::CONTENT_TYPE).cloned(), text.clone());
        let respond = async move {
            let response = next.run(Request::from_parts(parts, Body::from(sent.clone()))).await;
            if retry::names_extension(&sent) { rewrite_reverse_calls(response).await } else { response }
        };
        let response = serialize(&answer, Box::pin(respond)).await;
        if response.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE
            && let Some(refusal) = body::explain_unreadable(media_type.as_ref(), &text)
        {
            return Err(refusal);
        }
        // rmcp treats such a handshake as a request without a session.
        if response.status() == StatusCode::BAD_REQUEST
            && let Some(wrong) = Unreadable::of_params(&text)
        {
            return Err(HttpRefusal::Unreadable(wrong));
        }
        let response = serialize_body(answer, response);
        let response = match accepted {
            Accepted::JsonOnly => Box::pin(accept::to_json(response)).await?,
            Accepted::AsGiven => response,
        };
        Ok(match is_long_lived {
            true => self.lifecycle.end_when_stopping(response),
            false => Lifecycle::hold_until_sent(active, response),
        })
    }

    /// Serves a request that does not need rmcp. None if it needs rmcp.
    async fn respond_directly(&self, parts: &Parts, text: &[u8]) -> Option<Response> {
        let EndpointServer { context, end, .. } = self.server.get()?;
        let call = DirectCall::from_http(context, parts.extensions.get(), &parts.headers, text)?;
        let DirectResponse { status, json, .. } = call.run(context, end).await;
        Some(json_response(status, json))
    }
}

/// Counts the connection for the principal that it serves from now on.
fn count_for_principal(request: &Extensions) -> Result<(), HttpRefusal> {
    let Some(connection) = request.get::<Arc<ServedConnection>>() else { return Ok(()) };
    connection.serve(&principal_of(request)).map_err(refusal)
}

fn refusal(used: ShareUsed) -> HttpRefusal {
    match used {
        ShareUsed::Connections(limit) => HttpRefusal::TooManyConnections(limit),
        ShareUsed::Bytes(limit) => HttpRefusal::TooManyBytes(ByteSize(limit as u64)),
        ShareUsed::All => HttpRefusal::NoMemory,
    }
}

fn principal_of(request: &Extensions) -> Principal {
    request.get().cloned().unwrap_or_else(Principal::anonymous)
}

/// Rewrites a response that asks for reverse calls into the form that their extension specifies.
async fn rewrite_reverse_calls(response: Response) -> Response {
    let (mut parts, body) = response.into_parts();
    if body.size_hint().exact().is_none() {
        let body = Body::from_stream(body.into_data_stream().map_ok(retry::rewrite_frame));
        return Response::from_parts(parts, body);
    }
    // The body is in memory as a whole.
    match to_bytes(body, usize::MAX).await {
        Ok(whole) => {
            parts.headers.remove(header::CONTENT_LENGTH);
            Response::from_parts(parts, Body::from(retry::rewrite_frame(whole)))
        }
        Err(error) => {
            tracing::error!(%error, "a response cannot be read");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

async fn serve_mcp(State(endpoint): State<McpEndpoint>, request: Request) -> Response {
    let Some(EndpointServer { service, .. }) = endpoint.server.get() else { return HttpRefusal::Starting.response() };
    let principal = principal_of(request.extensions());
    let (response, refusal) = with_principal(principal, service.handle(request)).await;
    match refusal {
        Some(refusal) => refusal.response(),
        None => response.map(Body::new),
    }
}
