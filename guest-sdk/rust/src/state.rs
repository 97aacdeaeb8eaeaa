//! Values that a plugin keeps from call to call, each principal's apart: what one user's call keeps, no other user's call
//! finds.
//!
//! A value is on the host's disk when the function that keeps it returns. Calls run side by side, so what depends on an
//! earlier value goes through [`update`], or [`swap`]. Needs a request in the manifest, `#[plugin(requests(state))]`, and a
//! grant of the operator, who also sets how much may be kept.
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

/// How often [`update`] tries again when others change the same value. Each time somebody else got on.
const ATTEMPTS: u32 = 32;

/// The value under a key, if there is one.
///
/// # Errors
/// See [`StateError`]; `?` ends the call with the matching [`ToolError`](crate::ToolError).
pub fn get(key: &str) -> Result<Option<Entry>, StateError> {
    imports::get_state(key)
}

/// Keeps a value in place of what was there. Returns its version.
///
/// # Errors
/// As [`get`].
pub fn set(key: &str, value: impl AsRef<[u8]>) -> Result<u64, StateError> {
    imports::set_state(key, value.as_ref())
}

/// Keeps a value if what is there has this version; `None`: if there is nothing yet. Returns its version.
///
/// # Errors
/// As [`get`]; [`StateError::Conflict`] when something else is there.
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

/// All keys that begin so, in order. They come in pages, so one that is kept meanwhile may be among them or not.
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
/// As [`get`]; [`StateError::Invalid`] when it is not a `T`.
pub fn load<T: DeserializeOwned>(key: &str) -> Result<Option<T>, StateError> {
    get(key)?.map(|entry| entry.json()).transpose()
}

/// Keeps a value as JSON.
///
/// # Errors
/// As [`get`].
pub fn save(key: &str, value: &impl Serialize) -> Result<(), StateError> {
    set(key, json(value)?).map(|_| ())
}

/// Changes a value that is kept as JSON, also while other calls do: `change` is asked again when somebody was faster.
/// Returns what is kept now.
///
/// # Errors
/// As [`load`]; [`StateError::Conflict`] when others were faster again and again.
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
    /// [`StateError::Invalid`] when it is not a `T`.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, StateError> {
        serde_json::from_slice(&self.value)
            .map_err(|error| StateError::Invalid(format!("what is kept is not what was expected: {error}")))
    }
}
