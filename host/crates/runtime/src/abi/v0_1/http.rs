//! The import `wasi:http`: the standard interface, with our sender behind it. Each request is charged, and needs a
//! call.

use super::super::guest::Guest;
use super::store::{Store, charge};
use crate::imports::{http_to_linker, price};
use wasmtime::component::{Linker, Resource};
use wasmtime_wasi_http::p2::bindings::http::outgoing_handler::{ErrorCode, Host as _};
use wasmtime_wasi_http::p2::types::{HostFutureIncomingResponse, HostOutgoingRequest};
use wasmtime_wasi_http::{RequestOptions, WasiHttpView};

type HandleResult = (Result<Resource<HostFutureIncomingResponse>, ErrorCode>,);

pub(super) fn add_to_linker(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
    http_to_linker(linker)?;
    linker.allow_shadowing(true);
    let mut handler = linker.instance("wasi:http/outgoing-handler@0.2.12")?;
    handler.func_wrap("handle", handle)?;
    linker.allow_shadowing(false);
    Ok(())
}

fn handle(
    mut store: Store<'_>,
    (request, options): (Resource<HostOutgoingRequest>, Option<Resource<RequestOptions>>),
) -> wasmtime::Result<HandleResult> {
    // An instance that was made before its call may not send requests.
    store.data_mut().imports()?;
    charge(&mut store, price::OUTBOUND)?;
    match store.data_mut().http().handle(request, options) {
        Ok(response) => Ok((Ok(response),)),
        Err(error) => Ok((Err(error.downcast()?),)),
    }
}
