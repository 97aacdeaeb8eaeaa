//! The import `connections`.

use super::super::guest::Guest;
use super::bindings::portcullis::plugin::connections as w;
use super::store::{Store, charge_with_bytes};
use super::types::{denial_to_guest, exhaustion_to_guest};
use crate::imports::{ConnectionError, ConnectionRequest, ConnectionResponse, ImportSpan, price};
use wasmtime::component::Linker;

pub(super) fn add_to_linker(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
    let mut connections = linker.instance("portcullis:plugin/connections@0.1.0")?;
    connections.func_wrap_async("connected", |mut store: Store<'_>, (name,): (String,)| {
        Box::new(async move {
            charge_with_bytes(&mut store, price::CALL, name.len() as u64)?;
            let imports = store.data_mut().imports()?;
            let span = imports.start_span("connections.connected", name.len());
            let connected = span.finish_with(imports.accounts().connected(&name).await, |_| 0);
            Ok((connected.map_err(error_to_guest),))
        })
    })?;
    connections.func_wrap_async("send", |mut store: Store<'_>, (name, request): (String, w::Request)| {
        Box::new(async move {
            let request = request_from_guest(request);
            charge_with_bytes(&mut store, price::OUTBOUND, name.len() as u64 + request.size())?;
            let imports = store.data_mut().imports()?;
            let mut span = ImportSpan::start(imports.scope.audit(), "connections.send")
                .outward()
                .with_request_size(request.size());
            let response = imports.accounts().send(&name, request).await;
            if let Ok(response) = &response {
                span.set("http.response.status_code", u64::from(response.status));
            }
            let response = span.finish_with(response, ConnectionResponse::size);
            charge_with_bytes(&mut store, 0, response.as_ref().map_or(0, ConnectionResponse::size))?;
            Ok((response.map(response_to_guest).map_err(error_to_guest),))
        })
    })
}

fn request_from_guest(request: w::Request) -> ConnectionRequest {
    let w::Request { method, path, headers, body } = request;
    ConnectionRequest { method, path, headers, body }
}

fn response_to_guest(response: ConnectionResponse) -> w::Response {
    let ConnectionResponse { status, headers, body } = response;
    w::Response { status, headers, body }
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
