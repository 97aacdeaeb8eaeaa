//! `state`, linked.

use super::super::guest::Guest;
use super::bindings::portcullis::plugin::state as w;
use super::convert::{denial_to_guest, exhaustion_to_guest};
use super::link::{Store, charge};
use crate::imports::{Expectation, StateEntry, StateError, price};
use wasmtime::component::Linker;

type Kept = Result<u64, w::StateError>;

pub(super) fn add_to_linker(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
    let mut state = linker.instance("portcullis:plugin/state@0.1.0")?;
    state.func_wrap_async("get", |mut store: Store<'_>, (key,): (String,)| {
        Box::new(async move {
            charge(&mut store, price::CALL + bytes(key.len()))?;
            let call = store.data_mut().call()?;
            let doing = call.doing("state.get", key.len());
            let size = |entry: &Option<StateEntry>| entry.as_ref().map_or(0, |entry| entry.value.len());
            let entry = doing.gave(call.state.get(&key).await, |entry| size(entry) as u64);
            charge(&mut store, bytes(entry.as_ref().map_or(0, size)))?;
            let entry: Result<Option<w::Entry>, w::StateError> = match entry {
                Ok(entry) => Ok(entry.map(|StateEntry { value, version, .. }| w::Entry { value, version })),
                Err(error) => Err(error_to_guest(error)),
            };
            Ok((entry,))
        })
    })?;
    state.func_wrap_async("set", |store: Store<'_>, (key, value): (String, Vec<u8>)| {
        Box::new(async move { Ok((put(store, "state.set", key, value, Expectation::Any).await?,)) })
    })?;
    state.func_wrap_async("swap", |store: Store<'_>, (key, version, value): (String, Option<u64>, Vec<u8>)| {
        Box::new(async move { Ok((put(store, "state.swap", key, value, Expectation::Is(version)).await?,)) })
    })?;
    state.func_wrap_async("remove", |mut store: Store<'_>, (key,): (String,)| {
        Box::new(async move {
            charge(&mut store, price::KEEP + bytes(key.len()))?;
            let call = store.data_mut().call()?;
            let doing = call.doing("state.remove", key.len());
            let removed = doing.gave(call.state.remove(key).await, |_| 0);
            Ok((removed.map_err(error_to_guest),))
        })
    })?;
    state.func_wrap_async("keys", |mut store: Store<'_>, (prefix, after): (String, Option<String>)| {
        Box::new(async move {
            let given = prefix.len() + after.as_ref().map_or(0, String::len);
            charge(&mut store, price::CALL + bytes(given))?;
            let call = store.data_mut().call()?;
            let doing = call.doing("state.keys", given);
            let keys = call.state.keys(prefix, after).await;
            let keys = doing.gave(keys, |keys| keys.iter().map(|key| key.len() as u64).sum());
            let cost = |keys: &Vec<String>| keys.iter().map(|key| price::CALL + bytes(key.len())).sum();
            charge(&mut store, keys.as_ref().map_or(0, cost))?;
            let keys: Result<Vec<String>, w::StateError> = keys.map_err(error_to_guest);
            Ok((keys,))
        })
    })
}

async fn put(
    mut store: Store<'_>,
    name: &'static str,
    key: String,
    value: Vec<u8>,
    expected: Expectation,
) -> wasmtime::Result<Kept> {
    let given = key.len() + value.len();
    charge(&mut store, price::KEEP + bytes(given))?;
    let call = store.data_mut().call()?;
    let doing = call.doing(name, given);
    Ok(doing.gave(call.state.put(key, value, expected).await, |_| 0).map_err(error_to_guest))
}

fn bytes(number: usize) -> u64 {
    (number as u64).saturating_mul(price::BYTE)
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
