//! Sends a program's output as chunks whenever it writes. The program goes on only afterwards, so that it waits for a reader
//! that is behind, and so that a replay sends the same chunks at the same steps.

use super::super::price;
use super::super::types::Content;
use super::files::WasiHost;
use super::flush_reason::FlushReason;
use super::standard_streams::Next;
use crate::engine::charge;
use wasmtime::StoreContextMut;
use wasmtime::component::{Linker, Resource};
use wasmtime_wasi::HostMonotonicClock as _;
use wasmtime_wasi::p2::bindings::io::streams::{
    Host as _, HostOutputStream as _, InputStream, OutputStream, StreamError as GuestError,
};
use wasmtime_wasi::p2::{StreamError, StreamResult};

type Caller<'a, T> = StoreContextMut<'a, T>;
type Stream = Resource<OutputStream>;

/// Replaces these functions; shadowing must be allowed. All functions that write are replaced, because the output of any other
/// would stay in memory until one of these is called.
pub(super) fn add_to_linker<T: WasiHost>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
    let mut environment = linker.instance("wasi:cli/environment@0.2.12")?;
    environment.func_wrap("get-arguments", |mut store: Caller<'_, T>, (): ()| {
        let arguments = store.data_mut().streams().arguments();
        let bytes: usize = arguments.iter().map(String::len).sum();
        charge(&mut store, price::CALL + bytes as u64 * price::BYTE)?;
        Ok((arguments,))
    })?;
    let mut streams = linker.instance("wasi:io/streams@0.2.12")?;
    streams.func_wrap_async(
        "[method]output-stream.write",
        |mut store: Caller<'_, T>, (stream, bytes): (Stream, Vec<u8>)| {
            Box::new(async move {
                charge(&mut store, price::CALL + bytes.len() as u64 / price::COPIED)?;
                let written = store.data_mut().ctx().table.write(stream, bytes);
                told(store, written).await
            })
        },
    )?;
    streams.func_wrap_async(
        "[method]output-stream.blocking-write-and-flush",
        |mut store: Caller<'_, T>, (stream, bytes): (Stream, Vec<u8>)| {
            Box::new(async move {
                charge(&mut store, price::CALL + bytes.len() as u64 / price::COPIED)?;
                let written = store.data_mut().ctx().table.blocking_write_and_flush(stream, bytes).await;
                told(store, written).await
            })
        },
    )?;
    streams.func_wrap_async(
        "[method]output-stream.write-zeroes",
        |mut store: Caller<'_, T>, (stream, length): (Stream, u64)| {
            Box::new(async move {
                charge(&mut store, price::CALL + length / price::COPIED)?;
                let written = store.data_mut().ctx().table.write_zeroes(stream, length);
                told(store, written).await
            })
        },
    )?;
    streams.func_wrap_async(
        "[method]output-stream.blocking-write-zeroes-and-flush",
        |mut store: Caller<'_, T>, (stream, length): (Stream, u64)| {
            Box::new(async move {
                charge(&mut store, price::CALL + length / price::COPIED)?;
                let written = store.data_mut().ctx().table.blocking_write_zeroes_and_flush(stream, length).await;
                told(store, written).await
            })
        },
    )?;
    streams.func_wrap_async(
        "[method]output-stream.splice",
        |mut store: Caller<'_, T>, (to, from, length): (Stream, Resource<InputStream>, u64)| {
            Box::new(async move {
                charge(&mut store, price::CALL)?;
                let written = store.data_mut().ctx().table.splice(to, from, length);
                charge(&mut store, written.as_ref().map_or(0, |moved| *moved) / price::COPIED)?;
                told(store, written).await
            })
        },
    )?;
    streams.func_wrap_async(
        "[method]output-stream.blocking-splice",
        |mut store: Caller<'_, T>, (to, from, length): (Stream, Resource<InputStream>, u64)| {
            Box::new(async move {
                charge(&mut store, price::CALL)?;
                let written = store.data_mut().ctx().table.blocking_splice(to, from, length).await;
                charge(&mut store, written.as_ref().map_or(0, |moved| *moved) / price::COPIED)?;
                told(store, written).await
            })
        },
    )
}

/// Sends what is to be sent, and converts the result of a write for the guest.
async fn told<T: WasiHost, R>(
    mut store: Caller<'_, T>,
    written: StreamResult<R>,
) -> wasmtime::Result<(Result<R, GuestError>,)> {
    let told = match written {
        Ok(written) => Ok(written),
        Err(error @ StreamError::Trap(_)) => return Err(error.into()),
        Err(error) => Err(store.data_mut().ctx().table.convert_stream_error(error)?),
    };
    send(&mut store, FlushReason::Writes).await?;
    Ok((told,))
}

/// Sends what a program has written, as far as it is time for that. Other guests have nothing to send.
pub(crate) async fn send<T: WasiHost>(store: &mut Caller<'_, T>, flush_reason: FlushReason) -> wasmtime::Result<()> {
    let unpaid = store.data_mut().streams().take_unpaid();
    if unpaid > 0 {
        charge(store, unpaid)?;
    }
    loop {
        let data = store.data_mut();
        let piece = match data.streams().next(flush_reason) {
            Next::Nothing => return Ok(()),
            Next::Piece(piece) => piece,
            Next::Ask => {
                // A replay of the call comes here at another time, and must send the same chunks.
                let step = data.begin_step("stdout.pace", &()).or_nothing(&false);
                let now = data.clock().now();
                if !step.see(|| data.streams().may_send(flush_reason, now)) {
                    return Ok(());
                }
                data.streams().take_some(flush_reason).unwrap_or_default()
            }
        };
        if data.emit(vec![Content::text(piece)]).await?.is_err() {
            data.streams().stop_sending();
        }
    }
}
