//! Authenticates each request: it gets its principal before any handler sees it, or is refused.
//!
//! A few paths are public; a request to one still gets a principal if its credential is valid. The credential itself is
//! removed from the request here.

use super::response::json_response;
use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use platform::identity::{AuthError, Authenticator};
use serde_json::json;
use services::connections::{CALLBACK_PATH, CONNECT_PATH};
use std::sync::Arc;

/// The first of the JSON-RPC codes for server-defined errors.
const UNAUTHENTICATED: i32 = -32000;

/// Paths without authentication: health, and the account pages, which check their users themselves. Unknown paths below
/// `/.well-known/` are public too.
const PUBLIC_PATHS: &[&str] = &["/health", "/ready", CONNECT_PATH, CALLBACK_PATH];

/// Adds authentication to the routes, if it is configured.
pub(super) fn with_authentication(router: Router, authenticator: Option<Arc<Authenticator>>) -> Router {
    let Some(authenticator) = authenticator else { return router };
    router.layer(from_fn_with_state(authenticator, authenticate))
}

async fn authenticate(State(authenticator): State<Arc<Authenticator>>, mut request: Request, next: Next) -> Response {
    let path = request.uri().path();
    if request.method() == Method::GET
        && let Some(document) = authenticator.resource().and_then(|resource| resource.document(path))
    {
        return json_response(StatusCode::OK, document.to_owned());
    }
    let public = PUBLIC_PATHS.contains(&path) || path.starts_with("/.well-known/");
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
            tracing::debug!(%error, "request refused");
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
            Err(_) => Err(AuthError::Invalid("the credential has invalid characters")),
        },
        (Some(_), Some(_)) => Err(AuthError::Invalid("there are two Authorization headers")),
    }
}

fn unauthenticated(authenticator: &Authenticator, error: &AuthError) -> Response {
    // Without an id: it has not been parsed yet.
    let body = json!({"jsonrpc": "2.0", "error": {"code": UNAUTHENTICATED, "message": error.to_string()}});
    let status = StatusCode::from_u16(error.status()).unwrap_or(StatusCode::UNAUTHORIZED);
    let mut response = json_response(status, body.to_string());
    if error != &AuthError::Unavailable
        && let Ok(challenge) = HeaderValue::from_str(&error.challenge(authenticator.resource()))
    {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
    }
    response
}
