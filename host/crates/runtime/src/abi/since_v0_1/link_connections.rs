//! The import `connections`: accounts that users have connected.

use super::super::guest::Guest;
use super::bindings::portcullis::plugin::connections as w;
use super::convert::{denial_to_guest, exhaustion_to_guest};
use super::link::{Store, charge};
use crate::imports::{ConnectionError, ConnectionRequest, ConnectionResponse, Doing, price};
use wasmtime::component::Linker;

pub(super) fn add_to_linker(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
    let mut connections = linker.instance("portcullis:plugin/connections@0.1.0")?;
    connections.func_wrap_async("connected", |mut store: Store<'_>, (name,): (String,)| {
        Box::new(async move {
            charge(&mut store, price::CALL + (name.len() as u64).saturating_mul(price::BYTE))?;
            let call = store.data_mut().call()?;
            let doing = call.doing("connections.connected", name.len());
            let answer = doing.gave(call.accounts.connected(&name).await, |_| 0);
            Ok((answer.map_err(error_to_guest),))
        })
    })?;
    connections.func_wrap_async("send", |mut store: Store<'_>, (name, request): (String, w::Request)| {
        Box::new(async move {
            let w::Request { method, path, headers, body } = request;
            let request = ConnectionRequest { method, path, headers, body };
            charge(&mut store, price::OUTBOUND.saturating_add(request.size().saturating_mul(price::BYTE)))?;
            let call = store.data_mut().call()?;
            let mut doing = Doing::begin(call.trail(), "connections.send").outward().taking(request.size());
            let answer = call.accounts.send(&name, request).await;
            if let Ok(response) = &answer {
                doing.set("http.response.status_code", u64::from(response.status));
            }
            let answer = doing.gave(answer, ConnectionResponse::size);
            let size = answer.as_ref().map_or(0, ConnectionResponse::size);
            charge(&mut store, size.saturating_mul(price::BYTE))?;
            let answer: Result<w::Response, w::ConnectionError> = match answer {
                Ok(ConnectionResponse { status, headers, body }) => Ok(w::Response { status, headers, body }),
                Err(error) => Err(error_to_guest(error)),
            };
            Ok((answer,))
        })
    })
}

fn error_to_guest(error: ConnectionError) -> w::ConnectionError {
    match error {
        ConnectionError::Denied(denial) => w::ConnectionError::Denied(denial_to_guest(denial)),
        ConnectionError::NotConnected => w::ConnectionError::NotConnected,
        ConnectionError::Invalid(reason) => w::ConnectionError::Invalid(reason),
        ConnectionError::Exhausted(exhaustion) => w::ConnectionError::Exhausted(exhaustion_to_guest(exhaustion)),
        ConnectionError::Timeout(ms) => w::ConnectionError::Timeout(ms),
        ConnectionError::Failed(reason) => w::ConnectionError::Failed(reason),
    }
}
