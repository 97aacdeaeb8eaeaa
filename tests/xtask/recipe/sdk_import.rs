//! Dice.

use crate::bindings::portcullis::plugin::dice;
use crate::host_types::dice::RollError;

pub(crate) fn roll_die(sides: u32) -> Result<u32, RollError> {
    dice::roll(sides).map_err(|error| match error {
        dice::RollError::Denied(denial) => RollError::Denied(denial),
        dice::RollError::Invalid(why) => RollError::Invalid(why),
    })
}
