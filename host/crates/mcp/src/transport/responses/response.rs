//! JSON responses.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;

pub(in crate::transport) fn json_response(status: StatusCode, json: impl Into<Body>) -> Response {
    let mut response = Response::new(json.into());
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
