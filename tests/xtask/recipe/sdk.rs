//! Dice. Needs a request in the manifest, `#[plugin(requests(dice))]`, and a grant of the operator.

use crate::imports;

pub use crate::host_types::dice::RollError;

/// Returns a random number from 1 to `sides`.
///
/// # Errors
/// See [`RollError`]; `?` ends the call with the matching [`ToolError`](crate::ToolError).
pub fn roll(sides: u32) -> Result<u32, RollError> {
    imports::roll_die(sides)
}
