//! Values that a plugin keeps between calls, separately for each principal: one user's calls never see another user's
//! values.
//!
//! A value is on the host's disk when the function that stores it returns. Calls run concurrently, so use [`update`] or
//! [`swap`] when a new value depends on the old one. Needs a request in the manifest, `#[plugin(requests(state))]`, and
//! a grant of the operator, who also limits how much may be stored.
//!
//! ```no_run
//! use portcullis_guest::{ToolError, state};
//!
//! fn visits() -> Result<u32, ToolError> {
//!     Ok(state::update("visits", |visits: Option<u32>| visits.unwrap_or(0) + 1)?)
//! }
//! ```

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::imports;

pub use crate::bindings::portcullis::plugin::state::Entry;
pub use crate::host_types::state::StateError;

/// How often [`update`] retries when other calls change the same value. Each retry means that another call succeeded.
const ATTEMPTS: u32 = 32;

/// The value under a key, if there is one.
///
/// # Errors
/// See [`StateError`]; `?` ends the call with the matching [`ToolError`](crate::ToolError).
pub fn get(key: &str) -> Result<Option<Entry>, StateError> {
    imports::get_state(key)
}

/// Stores a value, replacing any previous one. Returns its version.
///
/// # Errors
/// As [`get`].
pub fn set(key: &str, value: impl AsRef<[u8]>) -> Result<u64, StateError> {
    imports::set_state(key, value.as_ref())
}

/// Stores a value if the current one has this version; `None` means that there must be no value yet. Returns the new
/// version.
///
/// # Errors
/// As [`get`]; [`StateError::Conflict`] when the version differs.
pub fn swap(key: &str, version: Option<u64>, value: impl AsRef<[u8]>) -> Result<u64, StateError> {
    imports::swap_state(key, version, value.as_ref())
}

/// Removes a value. Returns whether there was one.
///
/// # Errors
/// As [`get`].
pub fn remove(key: &str) -> Result<bool, StateError> {
    imports::remove_state(key)
}

/// All keys that begin with `prefix`, in order. The host sends them in pages, so a key stored meanwhile may be missing.
///
/// # Errors
/// As [`get`].
pub fn keys(prefix: &str) -> Result<Vec<String>, StateError> {
    let mut keys: Vec<String> = Vec::new();
    loop {
        let page = imports::state_keys(prefix, keys.last().map(String::as_str))?;
        if page.is_empty() {
            return Ok(keys);
        }
        keys.extend(page);
    }
}

/// The value under a key, read as JSON.
///
/// # Errors
/// As [`get`]; [`StateError::Invalid`] when the value is not a `T`.
pub fn load<T: DeserializeOwned>(key: &str) -> Result<Option<T>, StateError> {
    get(key)?.map(|entry| entry.json()).transpose()
}

/// Stores a value as JSON.
///
/// # Errors
/// As [`get`].
pub fn save(key: &str, value: &impl Serialize) -> Result<(), StateError> {
    set(key, json(value)?).map(|_| ())
}

/// Changes a value that is stored as JSON, safely beside concurrent calls: `change` runs again when another call
/// changed the value first. Returns the stored value.
///
/// # Errors
/// As [`load`]; [`StateError::Conflict`] when other calls changed the value first in every retry.
pub fn update<T: Serialize + DeserializeOwned>(
    key: &str,
    mut change: impl FnMut(Option<T>) -> T,
) -> Result<T, StateError> {
    for _ in 0..ATTEMPTS {
        let entry = get(key)?;
        let version = entry.as_ref().map(|entry| entry.version);
        let value = change(entry.map(|entry| entry.json()).transpose()?);
        match swap(key, version, json(&value)?) {
            Ok(_) => return Ok(value),
            Err(StateError::Conflict) => {}
            Err(error) => return Err(error),
        }
    }
    Err(StateError::Conflict)
}

fn json(value: &impl Serialize) -> Result<Vec<u8>, StateError> {
    serde_json::to_vec(value)
        .map_err(|error| StateError::Invalid(format!("the value cannot be written as JSON: {error}")))
}

impl Entry {
    /// The value, read as JSON.
    ///
    /// # Errors
    /// [`StateError::Invalid`] when the value is not a `T`.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, StateError> {
        serde_json::from_slice(&self.value)
            .map_err(|error| StateError::Invalid(format!("what is kept is not what was expected: {error}")))
    }
}
