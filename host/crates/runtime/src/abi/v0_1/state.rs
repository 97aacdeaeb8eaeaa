//! The import `state`.

use super::super::guest::Guest;
use super::bindings::portcullis::plugin::state as w;
use super::store::{Store, charge_with_bytes};
use super::types::{denial_to_guest, exhaustion_to_guest};
use crate::imports::{ExpectedVersion, StateEntry, StateError, price};
use wasmtime::component::Linker;

pub(super) fn add_to_linker(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
    let mut state = linker.instance("portcullis:plugin/state@0.1.0")?;
    state.func_wrap_async("get", |mut store: Store<'_>, (key,): (String,)| {
        Box::new(async move {
            charge_with_bytes(&mut store, price::CALL, key.len() as u64)?;
            let imports = store.data_mut().imports()?;
            let span = imports.start_span("state.get", key.len());
            let size = |entry: &Option<StateEntry>| entry.as_ref().map_or(0, |entry| entry.value.len() as u64);
            let entry = span.finish_with(imports.state().get(&key).await, size);
            charge_with_bytes(&mut store, 0, entry.as_ref().map_or(0, size))?;
            Ok((entry.map(|entry| entry.map(entry_to_guest)).map_err(error_to_guest),))
        })
    })?;
    state.func_wrap_async("set", |store: Store<'_>, (key, value): (String, Vec<u8>)| {
        Box::new(async move { Ok((put(store, "state.set", key, value, ExpectedVersion::Any).await?,)) })
    })?;
    state.func_wrap_async("swap", |store: Store<'_>, (key, version, value): (String, Option<u64>, Vec<u8>)| {
        Box::new(async move { Ok((put(store, "state.swap", key, value, ExpectedVersion::Is(version)).await?,)) })
    })?;
    state.func_wrap_async("remove", |mut store: Store<'_>, (key,): (String,)| {
        Box::new(async move {
            charge_with_bytes(&mut store, price::KEEP, key.len() as u64)?;
            let imports = store.data_mut().imports()?;
            let span = imports.start_span("state.remove", key.len());
            let removed = span.finish_with(imports.state().remove(key).await, |_| 0);
            Ok((removed.map_err(error_to_guest),))
        })
    })?;
    state.func_wrap_async("keys", |mut store: Store<'_>, (prefix, after): (String, Option<String>)| {
        Box::new(async move {
            let bytes = prefix.len() + after.as_ref().map_or(0, String::len);
            charge_with_bytes(&mut store, price::CALL, bytes as u64)?;
            let imports = store.data_mut().imports()?;
            let span = imports.start_span("state.keys", bytes);
            let size = |keys: &Vec<String>| keys.iter().map(|key| key.len() as u64).sum();
            let keys = span.finish_with(imports.state().keys(prefix, after).await, size);
            if let Ok(keys) = &keys {
                charge_with_bytes(&mut store, price::CALL * keys.len() as u64, size(keys))?;
            }
            Ok((keys.map_err(error_to_guest),))
        })
    })
}

/// Writes a value and returns its new version.
async fn put(
    mut store: Store<'_>,
    name: &'static str,
    key: String,
    value: Vec<u8>,
    expected: ExpectedVersion,
) -> wasmtime::Result<Result<u64, w::StateError>> {
    let bytes = key.len() + value.len();
    charge_with_bytes(&mut store, price::KEEP, bytes as u64)?;
    let imports = store.data_mut().imports()?;
    let span = imports.start_span(name, bytes);
    Ok(span.finish_with(imports.state().put(key, value, expected).await, |_| 0).map_err(error_to_guest))
}

fn entry_to_guest(entry: StateEntry) -> w::Entry {
    w::Entry { value: entry.value, version: entry.version }
}

fn error_to_guest(error: StateError) -> w::StateError {
    match error {
        StateError::Denied(denial) => w::StateError::Denied(denial_to_guest(denial)),
        StateError::Invalid(reason) => w::StateError::Invalid(reason),
        StateError::Exhausted(exhaustion) => w::StateError::Exhausted(exhaustion_to_guest(exhaustion)),
        StateError::Conflict => w::StateError::Conflict,
        StateError::Failed(reason) => w::StateError::Failed(reason),
    }
}
