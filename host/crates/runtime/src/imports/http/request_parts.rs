//! Limits the parts of a request that a guest builds. wasmtime limits only the headers, so requests that are never sent
//! could hold any amount of the host's memory.

use wasmtime::StoreContextMut;
use wasmtime::component::{Linker, LinkerInstance, Resource};
use wasmtime_wasi_http::WasiHttpView;
use wasmtime_wasi_http::p2::bindings::http::types::{HostOutgoingRequest as _, Method, Scheme};
use wasmtime_wasi_http::p2::types::HostOutgoingRequest;

/// Bytes of a method or scheme. The longest registered method has 17.
const MAX_WORD: usize = 64;
/// Bytes of an authority: the longest host name has 253.
const MAX_AUTHORITY: usize = 512;
/// Bytes of path and query: more than may be sent, so that a guest gets the clearer error of sending.
const MAX_PATH: usize = 16 << 10;

type Request = Resource<HostOutgoingRequest>;
type Set = wasmtime::Result<(Result<(), ()>,)>;

/// Replaces the standard functions with ones that enforce the limits.
pub(super) fn limit_parts<T: WasiHttpView + 'static>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
    linker.allow_shadowing(true);
    let mut types: LinkerInstance<'_, T> = linker.instance("wasi:http/types@0.2.12")?;
    types.func_wrap("[method]outgoing-request.set-method", set_method)?;
    types.func_wrap("[method]outgoing-request.set-scheme", set_scheme)?;
    types.func_wrap("[method]outgoing-request.set-authority", set_authority)?;
    types.func_wrap("[method]outgoing-request.set-path-with-query", set_path)?;
    linker.allow_shadowing(false);
    Ok(())
}

fn set_method<T: WasiHttpView>(mut store: StoreContextMut<'_, T>, (request, method): (Request, Method)) -> Set {
    let fits = !matches!(&method, Method::Other(word) if word.len() > MAX_WORD);
    Ok((if fits { store.data_mut().http().set_method(request, method)? } else { Err(()) },))
}

fn set_scheme<T: WasiHttpView>(mut store: StoreContextMut<'_, T>, (request, scheme): (Request, Option<Scheme>)) -> Set {
    let fits = !matches!(&scheme, Some(Scheme::Other(word)) if word.len() > MAX_WORD);
    Ok((if fits { store.data_mut().http().set_scheme(request, scheme)? } else { Err(()) },))
}

fn set_authority<T: WasiHttpView>(
    mut store: StoreContextMut<'_, T>,
    (request, text): (Request, Option<String>),
) -> Set {
    let fits = text.as_ref().is_none_or(|text| text.len() <= MAX_AUTHORITY);
    Ok((if fits { store.data_mut().http().set_authority(request, text)? } else { Err(()) },))
}

fn set_path<T: WasiHttpView>(mut store: StoreContextMut<'_, T>, (request, text): (Request, Option<String>)) -> Set {
    let fits = text.as_ref().is_none_or(|text| text.len() <= MAX_PATH);
    Ok((if fits { store.data_mut().http().set_path_with_query(request, text)? } else { Err(()) },))
}
