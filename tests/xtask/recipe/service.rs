//! Dice that use the randomness of the operating system.

use platform::random::random_bytes;
use runtime::imports::{DiceRoller, RollError};

pub struct SystemDice;

impl DiceRoller for SystemDice {
    fn roll(&self, sides: u32) -> Result<u32, RollError> {
        let bytes = random_bytes().map_err(|error| RollError::Invalid(error.to_string()))?;
        Ok(u32::from_le_bytes(bytes) % sides + 1)
    }
}
