//! Content that a component gives as a stream, such as a file or the body of a response: read before its result is.

use super::super::guest::Guest;
use super::super::values::mismatch;
use crate::engine::{CallError, Supervised as _, charge};
use crate::imports::price;
use std::collections::BTreeMap;
use wasmtime::component::{Resource, ResourceAny, Val};
use wasmtime::{AsContextMut as _, Error, Store};
use wasmtime_wasi::WasiView as _;
use wasmtime_wasi::p2::{DynInputStream, Pollable as _, StreamError};

/// Bytes that are read at once.
const PIECE: usize = 64 << 10;
/// Streams of one result. Each is a handle of the component as well.
const MAX_STREAMS: usize = 64;

/// What was read, by the numbers that stand for the streams in the result.
#[derive(Default)]
pub(super) struct Streams(BTreeMap<u32, Vec<u8>>);

impl Streams {
    /// Reads all streams in a result, in their order, and puts numbers in their places. All streams together may have no more
    /// bytes than a result.
    pub(super) async fn read(value: &mut Val, store: &mut Store<Guest>) -> wasmtime::Result<Self> {
        let mut found = Vec::new();
        take_handles(value, &mut found)?;
        let mut streams = Self::default();
        if found.is_empty() {
            return Ok(streams);
        }
        let limit = store.data_mut().supervision().allowance().limits.output.as_u64();
        let mut left = limit;
        for (number, handle) in (0..).zip(found) {
            let handle: Resource<DynInputStream> = handle.try_into_resource(store.as_context_mut())?;
            let mut stream = store.data_mut().ctx().table.delete(handle)?;
            let mut bytes = Vec::new();
            loop {
                stream.ready().await;
                match stream.read(PIECE) {
                    Ok(piece) => {
                        let size = piece.len() as u64;
                        charge(&mut store.as_context_mut(), price::CALL + size * price::BYTE)?;
                        let exceeded = || CallError::OutputExceeded { limit, used: limit.saturating_add(1) };
                        left = left.checked_sub(size).ok_or_else(exceeded)?;
                        bytes.extend_from_slice(&piece);
                        // A stream that is always ready and has nothing would otherwise keep this thread busy.
                        tokio::task::yield_now().await;
                    }
                    Err(StreamError::Closed) => break,
                    Err(error) => return Err(Error::msg(format!("a stream of its result cannot be read: {error}"))),
                }
            }
            streams.0.insert(number, bytes);
        }
        Ok(streams)
    }

    pub(super) fn take(&mut self, number: Val) -> wasmtime::Result<Vec<u8>> {
        match number {
            Val::U32(number) => self.0.remove(&number).ok_or_else(|| mismatch("a stream")),
            _ => Err(mismatch("a stream")),
        }
    }
}

fn take_handles(value: &mut Val, found: &mut Vec<ResourceAny>) -> wasmtime::Result<()> {
    match value {
        Val::Resource(handle) => {
            if found.len() == MAX_STREAMS {
                return Err(mismatch(&format!("a result of at most {MAX_STREAMS} streams")));
            }
            let number = u32::try_from(found.len()).unwrap_or(u32::MAX);
            found.push(*handle);
            *value = Val::U32(number);
            Ok(())
        }
        // Most lists are bytes, which have no handles in them.
        Val::List(items) if matches!(items.first(), Some(Val::U8(_))) => Ok(()),
        Val::List(items) | Val::Tuple(items) => items.iter_mut().try_for_each(|item| take_handles(item, found)),
        Val::Record(fields) => fields.iter_mut().try_for_each(|(_, field)| take_handles(field, found)),
        Val::Variant(_, Some(value)) | Val::Option(Some(value)) | Val::Result(Ok(Some(value)) | Err(Some(value))) => {
            take_handles(value, found)
        }
        _ => Ok(()),
    }
}
