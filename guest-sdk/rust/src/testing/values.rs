//! The fake host's key-value state.

use super::host::Host;
use super::state::{State, denial, with};
use crate::bindings::portcullis::plugin::state::Entry;
use crate::host_types::state::StateError;
use crate::{Budget, Exhaustion};

/// Keys on one page, the same number as in the real host.
const PAGE: usize = 100;

impl Host {
    /// Stores a value, as if by an earlier call.
    #[must_use]
    pub fn state(self, key: &str, value: impl Into<Vec<u8>>) -> Self {
        let value = value.into();
        with(|state| put(state, key, &value));
        self
    }

    /// Limits the total bytes of keys and values.
    #[must_use]
    pub fn state_limit(self, bytes: u64) -> Self {
        with(|state| state.values.limit = Some(bytes));
        self
    }

    /// The value stored under a key.
    pub fn kept(&self, key: &str) -> Option<Vec<u8>> {
        with(|state| state.values.kept.get(key).map(|entry| entry.value.clone()))
    }
}

pub(crate) fn get_state(key: &str) -> Result<Option<Entry>, StateError> {
    allowed(Some(key), |state| Ok(state.values.kept.get(key).cloned()))
}

pub(crate) fn set_state(key: &str, value: &[u8]) -> Result<u64, StateError> {
    allowed(Some(key), |state| kept(state, key, value))
}

pub(crate) fn swap_state(key: &str, version: Option<u64>, value: &[u8]) -> Result<u64, StateError> {
    allowed(Some(key), |state| {
        let now = state.values.kept.get(key).map(|entry| entry.version);
        if now == version { kept(state, key, value) } else { Err(StateError::Conflict) }
    })
}

pub(crate) fn remove_state(key: &str) -> Result<bool, StateError> {
    allowed(Some(key), |state| Ok(state.values.kept.remove(key).is_some()))
}

pub(crate) fn state_keys(prefix: &str, after: Option<&str>) -> Result<Vec<String>, StateError> {
    let wanted = |key: &&String| key.starts_with(prefix) && after.is_none_or(|after| key.as_str() > after);
    allowed(None, |state| Ok(state.values.kept.keys().filter(wanted).take(PAGE).cloned().collect()))
}

fn allowed<T>(key: Option<&str>, act: impl FnOnce(&mut State) -> Result<T, StateError>) -> Result<T, StateError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._:/-".contains(c);
    with(|state| match (denial(state, "state", "values kept from call to call"), key) {
        (Some(denial), _) => Err(StateError::Denied(denial)),
        (None, Some(key)) if key.is_empty() || key.len() > 256 || !key.chars().all(plain) => {
            Err(StateError::Invalid(format!("{key:?} is not a key")))
        }
        (None, _) => act(state),
    })
}

fn kept(state: &mut State, key: &str, value: &[u8]) -> Result<u64, StateError> {
    let size = |(key, entry): (&String, &Entry)| (key.len() + entry.value.len()) as u64;
    let others: u64 = state.values.kept.iter().filter(|(known, _)| *known != key).map(size).sum();
    match state.values.limit {
        Some(limit) if others + (key.len() + value.len()) as u64 > limit => {
            Err(StateError::Exhausted(Exhaustion { budget: Budget::Stored, limit }))
        }
        _ => Ok(put(state, key, value)),
    }
}

fn put(state: &mut State, key: &str, value: &[u8]) -> u64 {
    state.values.version += 1;
    let entry = Entry { value: value.to_owned(), version: state.values.version };
    state.values.kept.insert(key.to_owned(), entry);
    state.values.version
}
