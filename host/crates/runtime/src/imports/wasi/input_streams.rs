//! Reading from streams (files, bodies of answers, a program's input), which has a price because the bytes are copied.

use super::super::price;
use super::files::WasiHost;
use crate::engine::charge;
use wasmtime::StoreContextMut;
use wasmtime::component::{Linker, Resource};
use wasmtime_wasi::p2::bindings::io::streams::{
    Host as _, HostInputStream as _, InputStream, StreamError as GuestError,
};
use wasmtime_wasi::p2::{StreamError, StreamResult};

type Caller<'a, T> = StoreContextMut<'a, T>;
type Stream = Resource<InputStream>;

/// Replaces these functions; shadowing must be allowed.
pub(super) fn add_to_linker<T: WasiHost>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
    let mut streams = linker.instance("wasi:io/streams@0.2.12")?;
    streams.func_wrap("[method]input-stream.read", |mut store: Caller<'_, T>, (stream, length): (Stream, u64)| {
        let read = store.data_mut().ctx().table.read(stream, length);
        told(store, read, |bytes| bytes.len() as u64)
    })?;
    streams.func_wrap_async(
        "[method]input-stream.blocking-read",
        |mut store: Caller<'_, T>, (stream, length): (Stream, u64)| {
            Box::new(async move {
                let read = store.data_mut().ctx().table.blocking_read(stream, length).await;
                told(store, read, |bytes| bytes.len() as u64)
            })
        },
    )?;
    streams.func_wrap("[method]input-stream.skip", |mut store: Caller<'_, T>, (stream, length): (Stream, u64)| {
        let skipped = store.data_mut().ctx().table.skip(stream, length);
        told(store, skipped, |bytes| *bytes)
    })?;
    streams.func_wrap_async(
        "[method]input-stream.blocking-skip",
        |mut store: Caller<'_, T>, (stream, length): (Stream, u64)| {
            Box::new(async move {
                let skipped = store.data_mut().ctx().table.blocking_skip(stream, length).await;
                told(store, skipped, |bytes| *bytes)
            })
        },
    )
}

/// Charges the guest for a read and converts the result.
fn told<T: WasiHost, R>(
    mut store: Caller<'_, T>,
    read: StreamResult<R>,
    bytes: impl FnOnce(&R) -> u64,
) -> wasmtime::Result<(Result<R, GuestError>,)> {
    charge(&mut store, price::CALL + read.as_ref().map_or(0, bytes) / price::COPIED)?;
    match read {
        Ok(read) => Ok((Ok(read),)),
        Err(error @ StreamError::Trap(_)) => Err(error.into()),
        Err(error) => Ok((Err(store.data_mut().ctx().table.convert_stream_error(error)?),)),
    }
}
