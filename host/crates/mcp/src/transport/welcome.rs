//! Responses beside MCP: for browsers and curious clients at `/`, and for clients that look for OAuth where there is none.

use crate::transport::responses::refusal::HttpRefusal;
use crate::transport::responses::response::json_response;
use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

/// The paths at which clients register and ask for tokens if a server announces no OAuth.
pub(super) const OAUTH_PATHS: [&str; 3] = ["/register", "/authorize", "/token"];

/// How clients authenticate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClientAuthentication {
    None,
    Keys,
    OAuth,
}

impl ClientAuthentication {
    /// Why this server has no OAuth; none if it has.
    fn no_oauth(self) -> Option<&'static str> {
        match self {
            Self::None => Some("this server has no OAuth and asks for no credentials; MCP is at /mcp"),
            Self::Keys => Some(
                "this server has no OAuth: send an API key with each request, as `Authorization: Bearer KEY`; its operator makes one with `portcullis key new NAME`",
            ),
            Self::OAuth => None,
        }
    }
}

/// `/`: JSON or text, as the client prefers.
pub(super) async fn index(headers: HeaderMap) -> Response {
    let accepts = |kind: &str| {
        let all = headers.get_all(header::ACCEPT).iter();
        all.filter_map(|accept| accept.to_str().ok()).any(|accept| accept.contains(kind))
    };
    if accepts("application/json") {
        let index = json!({
            "name": "portcullis",
            "description": "An MCP server (Streamable HTTP).",
            "mcp": "/mcp",
            "health": "/health",
            "ready": "/ready",
        });
        return json_response(StatusCode::OK, index.to_string());
    }
    "This is Portcullis, an MCP server. MCP clients connect to /mcp (Streamable HTTP); /health and /ready are for monitoring.\n"
        .into_response()
}

/// Answers requests for all other paths.
pub(super) async fn not_found(credentials: ClientAuthentication, request: Request) -> Response {
    let path = request.uri().path();
    let is_oauth = OAUTH_PATHS.contains(&path)
        || path.starts_with("/.well-known/oauth-")
        || path.starts_with("/.well-known/openid-configuration");
    match credentials.no_oauth().filter(|_| is_oauth) {
        // In the form of an OAuth error, because clients show its description.
        Some(why) => {
            let error = json!({"error": "access_denied", "error_description": why});
            json_response(StatusCode::NOT_FOUND, error.to_string())
        }
        None => HttpRefusal::Path.response(),
    }
}
