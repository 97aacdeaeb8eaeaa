//! Other servers, answered by a closure.

use super::state::http::SentHttp;
use super::state::{self, with};
use crate::host_types::http::{HttpError, Request, Response};

pub(crate) fn send_http(request: Request) -> Result<Response, HttpError> {
    let denied = HttpError::Denied(state::refusal("http", &request.target()));
    let Request { method, url, headers, body, max_body, .. } = request;
    let sent = SentHttp { method, url, headers, body };
    // The borrow ends before the closure runs, since the closure may use the fake host itself.
    let server = with(|state| {
        let server = state.http.server.clone()?;
        state.http.sent.push(sent.clone());
        Some(server)
    });
    let server = server.ok_or(denied)?;
    let mut response = match server.try_borrow_mut() {
        Ok(mut server) => server(&sent)?,
        Err(_) => return Err(HttpError::Failed("the answer to a request sends one to the same server".into())),
    };
    response.truncated |= response.body.len() > max_body;
    response.body.truncate(max_body);
    Ok(response)
}

impl Response {
    /// A fake server's answer.
    pub fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self { status, headers: Vec::new(), body: body.into(), truncated: false }
    }

    /// Adds a header.
    #[must_use]
    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
}
