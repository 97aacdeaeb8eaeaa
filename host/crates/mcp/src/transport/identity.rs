//! Who sends a request: each gets its principal before anything else looks at it, or is refused.
//!
//! A few paths are open; where a request to one shows a good credential, its principal is noted for whoever asks. The
//! credential itself goes no further than here.

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use platform::identity::{Authenticator, Refusal};
use serde_json::json;
use services::connections::{CALLBACK, CONNECT};
use std::sync::Arc;

/// JSON-RPC's first code for errors of a server's own.
const REFUSED: i32 = -32000;

/// Paths for everybody: whether the server is well, and pages for browsers, which look after themselves. What is not
/// there or well-known is answered as such.
const OPEN: &[&str] = &["/health", "/ready", CONNECT, CALLBACK];

struct Guard {
    authenticator: Arc<Authenticator>,
}

/// The routes for those who are known; when nobody is asked, as they are.
pub(super) fn guarded(router: Router, authenticator: Option<Arc<Authenticator>>) -> Router {
    let Some(authenticator) = authenticator else { return router };
    router.layer(from_fn_with_state(Arc::new(Guard { authenticator }), pass))
}

async fn pass(State(guard): State<Arc<Guard>>, mut request: Request, next: Next) -> Response {
    let path = request.uri().path();
    if request.method() == Method::GET
        && let Some(document) = guard.authenticator.resource().and_then(|resource| resource.document(path))
    {
        return answer(StatusCode::OK, document.to_owned());
    }
    let open = OPEN.contains(&path) || path.starts_with("/.well-known/");
    let checked = match credential(request.headers()) {
        Ok(credential) => guard.authenticator.check(credential.as_deref()).await,
        Err(refusal) => Err(refusal),
    };
    request.headers_mut().remove(header::AUTHORIZATION);
    match checked {
        Ok(principal) => {
            request.extensions_mut().insert(principal);
            next.run(request).await
        }
        Err(_) if open => next.run(request).await,
        Err(refusal) => {
            tracing::debug!(%refusal, "refused");
            guard.refuse(&refusal)
        }
    }
}

/// The one `Authorization` header, if there is any.
fn credential(headers: &HeaderMap) -> Result<Option<String>, Refusal> {
    let mut all = headers.get_all(header::AUTHORIZATION).iter();
    match (all.next(), all.next()) {
        (None, _) => Ok(None),
        (Some(one), None) => match one.to_str() {
            Ok(text) => Ok(Some(text.to_owned())),
            Err(_) => Err(Refusal::Invalid("the credential has strange characters")),
        },
        (Some(_), Some(_)) => Err(Refusal::Invalid("there are two Authorization headers")),
    }
}

impl Guard {
    fn refuse(&self, refusal: &Refusal) -> Response {
        // No id: nobody has read one yet.
        let body = json!({"jsonrpc": "2.0", "error": {"code": REFUSED, "message": refusal.to_string()}});
        let status = StatusCode::from_u16(refusal.status()).unwrap_or(StatusCode::UNAUTHORIZED);
        let mut response = answer(status, body.to_string());
        if refusal != &Refusal::Unavailable
            && let Ok(challenge) = HeaderValue::from_str(&refusal.challenge(self.authenticator.resource()))
        {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
        }
        response
    }
}

fn answer(status: StatusCode, json: String) -> Response {
    let mut response = Response::new(Body::from(json));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
