//! Dice in the fake host: each shows its highest number.

use super::state::{denial, with};
use crate::host_types::dice::RollError;

pub(crate) fn roll_die(sides: u32) -> Result<u32, RollError> {
    match with(|state| denial(state, "dice", "a die")) {
        Some(denial) => Err(RollError::Denied(denial)),
        None if sides == 0 => Err(RollError::Invalid("a die has at least one side".into())),
        None => Ok(sides),
    }
}
