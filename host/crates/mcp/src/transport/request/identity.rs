//! Authenticates each request: it gets its principal before any handler sees it, or is refused.
//!
//! A few paths are public; a request to one still gets a principal if its credential is valid. The credential itself is
//! removed from the request here.

use crate::transport::connections::connection_table::ServedConnection;
use crate::transport::responses::error_body::error_response;
use crate::transport::responses::response::json_response;
use crate::transport::welcome::OAUTH_PATHS;
use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use platform::identity::{AuthError, Authenticator};
use platform::sync::Mutex;
use services::connections::{CALLBACK_PATH, CONNECT_PATH, LOGIN_PATH};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The first of the JSON-RPC codes for server-defined errors.
const UNAUTHENTICATED: i32 = -32000;

/// Paths without authentication: the welcome page, health, and the account pages, which check their users themselves. Unknown
/// paths below `/.well-known/` are public too, and so are those of OAuth if this server has none.
const PUBLIC_PATHS: &[&str] = &["/", "/health", "/ready", CONNECT_PATH, LOGIN_PATH, CALLBACK_PATH];

/// The interval between logged refusals. Limits the log, since anybody can send requests without a credential.
const LOG_INTERVAL: Duration = Duration::from_secs(1);

/// Adds authentication to the routes, if it is configured.
pub(in crate::transport) fn with_authentication(router: Router, authenticator: Option<Arc<Authenticator>>) -> Router {
    let Some(authenticator) = authenticator else { return router };
    let state = Authentication { authenticator, log: Arc::default() };
    router.layer(from_fn_with_state(state, authenticate))
}

#[derive(Clone)]
struct Authentication {
    authenticator: Arc<Authenticator>,
    log: Arc<RefusalLog>,
}

/// Logs refusals, but not every one.
#[derive(Default)]
struct RefusalLog {
    /// When a refusal was last logged, and how many have not been since.
    last: Mutex<(Option<Instant>, u64)>,
}

impl RefusalLog {
    fn log(&self, error: &AuthError, connection: &ServedConnection) {
        let (now, from) = (connection.now(), connection.network());
        let left_out = {
            let mut last = self.last.lock();
            if last.0.is_some_and(|last| now.saturating_duration_since(last) < LOG_INTERVAL) {
                last.1 += 1;
                return;
            }
            std::mem::replace(&mut *last, (Some(now), 0)).1
        };
        match error {
            // Clients that do not know yet how to authenticate start with such a request.
            AuthError::Missing => tracing::info!(%from, left_out, "a request without a credential is refused"),
            error => tracing::warn!(%from, left_out, "a request is refused: {error}"),
        }
    }
}

async fn authenticate(
    State(Authentication { authenticator, log }): State<Authentication>,
    mut request: Request,
    next: Next,
) -> Response {
    let path = request.uri().path();
    if request.method() == Method::GET
        && let Some(document) = authenticator.resource().and_then(|resource| resource.document(path))
    {
        return json_response(StatusCode::OK, document.to_owned());
    }
    let without_oauth = authenticator.resource().is_none() && OAUTH_PATHS.contains(&path);
    let public = PUBLIC_PATHS.contains(&path) || path.starts_with("/.well-known/") || without_oauth;
    let checked = match credential(request.headers()) {
        Ok(credential) => authenticator.check(credential.as_deref()).await,
        Err(error) => Err(error),
    };
    request.headers_mut().remove(header::AUTHORIZATION);
    match checked {
        Ok(principal) => {
            request.extensions_mut().insert(principal);
            next.run(request).await
        }
        Err(_) if public => next.run(request).await,
        Err(error) => {
            if let Some(connection) = request.extensions().get::<Arc<ServedConnection>>() {
                log.log(&error, connection);
            }
            unauthenticated(&authenticator, &error)
        }
    }
}

/// The `Authorization` header, which must be unique.
fn credential(headers: &HeaderMap) -> Result<Option<String>, AuthError> {
    let mut all = headers.get_all(header::AUTHORIZATION).iter();
    match (all.next(), all.next()) {
        (None, _) => Ok(None),
        (Some(one), None) => match one.to_str() {
            Ok(text) => Ok(Some(text.to_owned())),
            Err(_) => Err(AuthError::Invalid("the credential has invalid characters".into())),
        },
        (Some(_), Some(_)) => Err(AuthError::Invalid("there are two Authorization headers".into())),
    }
}

fn unauthenticated(authenticator: &Authenticator, error: &AuthError) -> Response {
    let status = StatusCode::from_u16(error.status()).unwrap_or(StatusCode::UNAUTHORIZED);
    let mut response = error_response(status, None, UNAUTHENTICATED, &error.to_string());
    if error != &AuthError::Unavailable
        && let Ok(challenge) = HeaderValue::from_str(&error.challenge(authenticator.resource()))
    {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
    }
    response
}
