//! HTTP requests to other servers, which the host sends to the servers that the operator granted.
//!
//! Needs a request in the manifest, `#[plugin(requests(http = ["GET https://api.example.com/v1/"]))]`, and a grant.
//! Write one of the operator's secrets by name into the value of a header, as `{{secret:example}}`: the host inserts it
//! on the way, only for the servers that may receive it, and the plugin never sees it.
//!
//! ```no_run
//! use portcullis_guest::{ToolError, http};
//! use serde_json::Value;
//!
//! fn weather() -> Result<String, ToolError> {
//!     let request = http::get("https://api.example.com/v1/weather").header("authorization", "Bearer {{secret:example}}");
//!     let weather: Value = request.send()?.error_for_status()?.json()?;
//!     Ok(weather["summary"].to_string())
//! }
//! ```
//!
//! The transport is `wasi:http`, so the same grants apply to requests that another crate or language sends over it.

use std::borrow::Cow;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::imports;

pub use crate::host_types::http::{HttpError, Request, Response};

/// The default limit on the body of an answer.
const MAX_BODY: usize = 4 << 20;

/// A GET request.
pub fn get(url: impl Into<String>) -> Request {
    Request::new("GET", url)
}

/// A POST request.
pub fn post(url: impl Into<String>) -> Request {
    Request::new("POST", url)
}

impl Request {
    /// A request with any method that can be granted: GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS.
    pub fn new(method: impl Into<String>, url: impl Into<String>) -> Self {
        let (method, url) = (method.into(), url.into());
        Self { method, url, headers: vec![], body: vec![], timeout: None, max_body: MAX_BODY, broken: None }
    }

    /// Adds a header. The host sets the headers of the connection, such as `host`.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Sets the body.
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// Sets a JSON body and its `content-type` header.
    pub fn json(mut self, value: &impl Serialize) -> Self {
        match serde_json::to_vec(value) {
            Ok(body) => self.body = body,
            Err(error) => self.broken = Some(format!("the body cannot be written as JSON: {error}")),
        }
        self.header("content-type", "application/json")
    }

    /// Sets how long to wait for the connection, for the answer, and for each piece of it. It cannot exceed the time in
    /// the grant.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Sets how much of the answer's body to read; 4 MiB by default. The rest is not read.
    pub fn max_body(mut self, bytes: usize) -> Self {
        self.max_body = bytes;
        self
    }

    /// Sends the request and reads the answer. Redirects are followed if they are granted.
    ///
    /// # Errors
    /// See [`HttpError`]. An answer with any status is not an error.
    pub fn send(self) -> Result<Response, HttpError> {
        match self.broken {
            Some(why) => Err(HttpError::Invalid(why)),
            None => imports::send_http(self),
        }
    }
}

impl Response {
    /// The response, if its status is a success (200 to 299).
    ///
    /// # Errors
    /// [`HttpError::Status`] for any other status.
    pub fn error_for_status(self) -> Result<Self, HttpError> {
        match self.status {
            200..=299 => Ok(self),
            status => Err(HttpError::Status(status)),
        }
    }

    /// The first header with this name, ignoring case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// The body as text; invalid UTF-8 is replaced.
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.body)
    }

    /// The body, read as JSON.
    ///
    /// # Errors
    /// [`HttpError::UnexpectedResponse`] when the body is not a `T`.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, HttpError> {
        serde_json::from_slice(&self.body).map_err(|error| HttpError::UnexpectedResponse(error.to_string()))
    }
}
