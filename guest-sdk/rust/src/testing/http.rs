//! Other servers that answer by closure.

use std::cell::RefCell;
use std::rc::Rc;

use super::state::{self, with};
use crate::http::{HttpError, Request, Response};

/// One request that was sent to another server.
#[derive(Clone, Debug, PartialEq)]
pub struct SentHttp {
    /// Such as `GET`.
    pub method: String,
    /// As the plugin wrote it.
    pub url: String,
    /// Names and values, secrets by name.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

type Server = Rc<RefCell<dyn FnMut(&SentHttp) -> Result<Response, HttpError>>>;

/// Who answers, and what was sent.
#[derive(Default)]
pub(super) struct Servers {
    pub(super) server: Option<Server>,
    pub(super) sent: Vec<SentHttp>,
}

pub(crate) fn send_http(request: Request) -> Result<Response, HttpError> {
    let denied = HttpError::Denied(state::refusal("http", &request.target()));
    let Request { method, url, headers, body, max_body, .. } = request;
    let sent = SentHttp { method, url, headers, body };
    // The borrow ends before the closure runs, since it may use the fake host itself.
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
    /// What a fake server answers.
    pub fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self { status, headers: Vec::new(), body: body.into(), truncated: false }
    }

    /// With one more header.
    #[must_use]
    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
}
