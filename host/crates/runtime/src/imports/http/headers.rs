//! The functions of header maps, which have a price because they copy up to 64 KiB.

use super::super::price;
use crate::engine::charge;
use wasmtime::StoreContextMut;
use wasmtime::component::{Linker, LinkerInstance, Resource};
use wasmtime_wasi_http::WasiHttpView;
use wasmtime_wasi_http::p2::HeaderError;
use wasmtime_wasi_http::p2::bindings::http::types::{HeaderError as GuestError, Headers, Host as _, HostFields as _};

/// Bytes that a header takes besides its name and value.
const ENTRY: usize = 32;

type Caller<'a, T> = StoreContextMut<'a, T>;
type Fields = Resource<Headers>;
type Entries = Vec<(String, Vec<u8>)>;
type Answer<R> = wasmtime::Result<(Result<R, GuestError>,)>;

/// Replaces the standard functions with ones that have a price.
pub(super) fn add_to_linker<T: WasiHttpView + 'static>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
    linker.allow_shadowing(true);
    let mut types: LinkerInstance<'_, T> = linker.instance("wasi:http/types@0.2.12")?;
    types.func_wrap("[method]fields.get", |mut store: Caller<'_, T>, (fields, name): (Fields, String)| {
        let values = store.data_mut().http().get(fields, name)?;
        pay(&mut store, values.iter().map(Vec::len))?;
        Ok((values,))
    })?;
    types.func_wrap("[method]fields.has", |mut store: Caller<'_, T>, (fields, name): (Fields, String)| {
        pay(&mut store, [name.len()])?;
        Ok((store.data_mut().http().has(fields, name)?,))
    })?;
    types.func_wrap("[method]fields.entries", |mut store: Caller<'_, T>, (fields,): (Fields,)| {
        let entries = store.data_mut().http().entries(fields)?;
        pay(&mut store, sizes(&entries))?;
        Ok((entries,))
    })?;
    types.func_wrap("[method]fields.clone", |mut store: Caller<'_, T>, (fields,): (Fields,)| {
        // Paid in advance: the map is copied later, when one of the two is changed.
        let map = store.data_mut().http().table.get(&fields)?;
        let size: usize = map.iter().map(|(name, value)| name.as_str().len() + value.len() + ENTRY).sum();
        pay(&mut store, [size])?;
        Ok((store.data_mut().http().clone(fields)?,))
    })?;
    types.func_wrap("[static]fields.from-list", |mut store: Caller<'_, T>, (entries,): (Entries,)| {
        pay(&mut store, sizes(&entries))?;
        let made = store.data_mut().http().from_list(entries);
        told(store, made)
    })?;
    types.func_wrap(
        "[method]fields.set",
        |mut store: Caller<'_, T>, (fields, name, values): (Fields, String, Vec<Vec<u8>>)| {
            pay(&mut store, values.iter().map(Vec::len).chain([name.len()]))?;
            let set = store.data_mut().http().set(fields, name, values);
            told(store, set)
        },
    )?;
    types.func_wrap(
        "[method]fields.append",
        |mut store: Caller<'_, T>, (fields, name, value): (Fields, String, Vec<u8>)| {
            pay(&mut store, [name.len() + value.len()])?;
            let appended = store.data_mut().http().append(fields, name, value);
            told(store, appended)
        },
    )?;
    types.func_wrap("[method]fields.delete", |mut store: Caller<'_, T>, (fields, name): (Fields, String)| {
        pay(&mut store, [name.len()])?;
        let deleted = store.data_mut().http().delete(fields, name);
        told(store, deleted)
    })?;
    linker.allow_shadowing(false);
    Ok(())
}

fn sizes(entries: &[(String, Vec<u8>)]) -> impl Iterator<Item = usize> {
    entries.iter().map(|(name, value)| name.len() + value.len())
}

fn pay<T>(store: &mut Caller<'_, T>, sizes: impl IntoIterator<Item = usize>) -> wasmtime::Result<()> {
    let bytes: usize = sizes.into_iter().map(|size| size + ENTRY).sum();
    charge(store, price::CALL + bytes as u64 * price::BYTE)
}

/// Converts the result of a change for the guest.
fn told<T: WasiHttpView, R>(mut store: Caller<'_, T>, done: Result<R, HeaderError>) -> Answer<R> {
    Ok((match done {
        Ok(done) => Ok(done),
        Err(error) => Err(store.data_mut().http().convert_header_error(error)?),
    },))
}
