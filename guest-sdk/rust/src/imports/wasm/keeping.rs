//! Values kept between calls, and checkpoints of one.

use crate::bindings::portcullis::plugin::{checkpoint, state as wit};
use crate::host_types::checkpoint::CheckpointError;
use crate::host_types::state::StateError;

pub(crate) fn get_state(key: &str) -> Result<Option<wit::Entry>, StateError> {
    wit::get(key).map_err(Into::into)
}

pub(crate) fn set_state(key: &str, value: &[u8]) -> Result<u64, StateError> {
    wit::set(key, value).map_err(Into::into)
}

pub(crate) fn swap_state(key: &str, version: Option<u64>, value: &[u8]) -> Result<u64, StateError> {
    wit::swap(key, version, value).map_err(Into::into)
}

pub(crate) fn remove_state(key: &str) -> Result<bool, StateError> {
    wit::remove(key).map_err(Into::into)
}

pub(crate) fn state_keys(prefix: &str, after: Option<&str>) -> Result<Vec<String>, StateError> {
    wit::keys(prefix, after).map_err(Into::into)
}

impl From<wit::StateError> for StateError {
    fn from(error: wit::StateError) -> Self {
        use wit::StateError as Wit;
        match error {
            Wit::Denied(denial) => Self::Denied(denial),
            Wit::Invalid(why) => Self::Invalid(why),
            Wit::Exhausted(exhaustion) => Self::Exhausted(exhaustion),
            Wit::Conflict => Self::Conflict,
            Wit::Failed(why) => Self::Failed(why),
        }
    }
}

pub(crate) fn restored() -> Option<Vec<u8>> {
    checkpoint::restored()
}

pub(crate) fn save_checkpoint(state: &[u8]) -> Result<(), CheckpointError> {
    checkpoint::save(state).map_err(|error| match error {
        checkpoint::CheckpointError::NotOpened => CheckpointError::NotOpened,
        checkpoint::CheckpointError::TooLarge(limit) => CheckpointError::TooLarge(limit),
    })
}
