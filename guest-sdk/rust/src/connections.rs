//! Accounts that users have connected: the host holds the credentials, and a plugin uses them without ever seeing them.
//!
//! Needs a request in the manifest, `#[plugin(requests(connections = ["github"]))]`, and a grant of the operator, who
//! also sets up the connection.
//!
//! ```no_run
//! use portcullis_guest::{ToolError, client, connections};
//! use serde_json::Value;
//!
//! fn who() -> Result<String, ToolError> {
//!     if !connections::connected("github")? {
//!         client::connect("Connect your GitHub account.", "github").ask()?.or_stop()?;
//!     }
//!     let response = connections::get("github", "/user").header("accept", "application/json").send()?;
//!     let user: Value = response.error_for_status()?.json()?;
//!     Ok(user["login"].to_string())
//! }
//! ```

use std::borrow::Cow;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::bindings::portcullis::plugin::connections as wit;
use crate::imports;

pub use crate::bindings::portcullis::plugin::connections::Response;
pub use crate::host_types::connections::ConnectionError;

/// Whether the principal of this call has connected the account.
///
/// # Errors
/// See [`ConnectionError`]; `?` ends the call with the matching [`ToolError`](crate::ToolError).
pub fn connected(name: &str) -> Result<bool, ConnectionError> {
    imports::connected(name)
}

/// A GET request. `path` is path and query below the connection's base address.
pub fn get(connection: impl Into<String>, path: impl Into<String>) -> Request {
    Request::new(connection.into(), "GET", path.into())
}

/// A POST request; `path` as for [`get`].
pub fn post(connection: impl Into<String>, path: impl Into<String>) -> Request {
    Request::new(connection.into(), "POST", path.into())
}

/// A PUT request; `path` as for [`get`].
pub fn put(connection: impl Into<String>, path: impl Into<String>) -> Request {
    Request::new(connection.into(), "PUT", path.into())
}

/// A PATCH request; `path` as for [`get`].
pub fn patch(connection: impl Into<String>, path: impl Into<String>) -> Request {
    Request::new(connection.into(), "PATCH", path.into())
}

/// A DELETE request; `path` as for [`get`].
pub fn delete(connection: impl Into<String>, path: impl Into<String>) -> Request {
    Request::new(connection.into(), "DELETE", path.into())
}

/// An HTTP request with the account's credentials, which the host adds.
#[must_use = "nothing is sent before `send`"]
#[derive(Clone, Debug)]
pub struct Request {
    connection: String,
    request: wit::Request,
    /// Why the body could not be written; returned by `send`, so that a chain of calls needs only one `?`.
    broken: Option<String>,
}

impl Request {
    fn new(connection: String, method: &str, path: String) -> Self {
        let request = wit::Request { method: method.to_owned(), path, headers: Vec::new(), body: Vec::new() };
        Self { connection, request, broken: None }
    }

    /// Adds a header. Credentials and hop-by-hop headers are refused.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.request.headers.push((name.into(), value.into()));
        self
    }

    /// Sets the body.
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.request.body = body.into();
        self
    }

    /// Sets a JSON body and its `content-type` header.
    pub fn json(mut self, value: &impl Serialize) -> Self {
        match serde_json::to_vec(value) {
            Ok(body) => self.request.body = body,
            Err(error) => self.broken = Some(format!("the body cannot be written as JSON: {error}")),
        }
        self.header("content-type", "application/json")
    }

    /// Sends the request and waits for the response. Redirects are not followed.
    ///
    /// # Errors
    /// See [`ConnectionError`]. A response with any status is not an error.
    pub fn send(self) -> Result<Response, ConnectionError> {
        match self.broken {
            Some(why) => Err(ConnectionError::Invalid(why)),
            None => imports::send(&self.connection, self.request),
        }
    }
}

impl Response {
    /// The response, if its status is a success (200 to 299).
    ///
    /// # Errors
    /// [`ConnectionError::Status`] for any other status.
    pub fn error_for_status(self) -> Result<Self, ConnectionError> {
        match self.status {
            200..=299 => Ok(self),
            status => Err(ConnectionError::Status(status)),
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
    /// [`ConnectionError::UnexpectedResponse`] when the body is not a `T`.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, ConnectionError> {
        serde_json::from_slice(&self.body).map_err(|error| ConnectionError::UnexpectedResponse(error.to_string()))
    }
}
