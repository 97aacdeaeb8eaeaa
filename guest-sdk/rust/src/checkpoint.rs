//! Checkpoints of a long call, which go on with it in another process.
//!
//! A call that outlives its host runs again, with all that it has learnt so far; a task that works for hours does so for
//! long, and what is recorded of it has a limit. A tool that saves goes on from there instead.
//!
//! Ask [`restored`] once, at the beginning. What follows a [`save`] must depend on nothing but the saved state, and be the
//! same whether the tool has just saved it or begins with it: a loop is the natural form. Open files, requests and the like
//! are gone then.
//!
//! ```no_run
//! use portcullis_guest::{ToolError, checkpoint, output};
//!
//! fn convert(pages: u32) -> Result<String, ToolError> {
//!     let mut done: u32 = checkpoint::restored()?.unwrap_or(0);
//!     while done < pages {
//!         output::emit(format!("page {done}"))?;
//!         done += 1;
//!         checkpoint::save(&done)?;
//!     }
//!     Ok(format!("{done} pages"))
//! }
//! ```

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::imports;

pub use crate::host_types::checkpoint::CheckpointError;

/// What was saved last, read as JSON; `None` if nothing was.
///
/// # Errors
/// [`CheckpointError::Invalid`] when it is not a `T`; `?` ends the call.
pub fn restored<T: DeserializeOwned>() -> Result<Option<T>, CheckpointError> {
    let read = |state: Vec<u8>| {
        serde_json::from_slice(&state)
            .map_err(|error| CheckpointError::Invalid(format!("what was saved is not what was expected: {error}")))
    };
    imports::restored().map(read).transpose()
}

/// Saves a state as JSON, in the place of the last one.
///
/// # Errors
/// See [`CheckpointError`]; nothing is saved then.
pub fn save(state: &impl Serialize) -> Result<(), CheckpointError> {
    let state = serde_json::to_vec(state)
        .map_err(|error| CheckpointError::Invalid(format!("the state cannot be written as JSON: {error}")))?;
    imports::save_checkpoint(&state)
}
