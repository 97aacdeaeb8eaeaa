//! Connected accounts, answered by closures.

use super::state::connections::{Sent, Server};
use super::state::{self, with};
use crate::bindings::portcullis::plugin::connections::{self as wit, Response};
use crate::host_types::connections::ConnectionError;

/// The user's action on the page of [`client::connect`](crate::client::connect).
pub(super) fn connect(name: &str) {
    with(|state| state.connections.disconnected.retain(|known| known != name));
}

pub(crate) fn connected(name: &str) -> Result<bool, ConnectionError> {
    with(|state| {
        granted(state, name)?;
        Ok(!state.connections.disconnected.iter().any(|known| known == name))
    })
}

pub(crate) fn send(name: &str, request: wit::Request) -> Result<Response, ConnectionError> {
    let secret = |(header, _): &&(String, String)| {
        ["authorization", "cookie", "proxy-authorization"].contains(&header.to_ascii_lowercase().as_str())
    };
    if let Some((header, _)) = request.headers.iter().find(secret) {
        return Err(ConnectionError::Invalid(format!("the header `{header}` is the host's to set")));
    }
    if !connected(name)? {
        return Err(ConnectionError::NotConnected);
    }
    let wit::Request { method, path, headers, body } = request;
    let sent = Sent { connection: name.to_owned(), method, path, headers, body };
    // The borrow ends before the closure runs, since the closure may use the fake host itself.
    let server = with(|state| {
        state.connections.sent.push(sent.clone());
        granted(state, name)
    })?;
    match server.try_borrow_mut() {
        Ok(mut server) => server(&sent),
        Err(_) => Err(ConnectionError::Failed("the answer to a request sends one to the same server".into())),
    }
}

fn granted(state: &state::State, name: &str) -> Result<Server, ConnectionError> {
    let denied = || ConnectionError::Denied(state::refusal("connections", name));
    state.connections.servers.get(name).cloned().ok_or_else(denied)
}

impl Response {
    /// A fake server's answer.
    pub fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self { status, headers: Vec::new(), body: body.into() }
    }
}
