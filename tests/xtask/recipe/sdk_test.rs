//! Dice in the fake host.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use portcullis_guest::ToolError;
use portcullis_guest::testing::Host;
use serde_json::json;

#[portcullis_guest::plugin(name = "games", description = "Plays.", requests(dice))]
mod games {
    use portcullis_guest::dice::{self, RollError};

    /// Rolls one die.
    #[tool]
    fn roll(sides: u32) -> Result<String, RollError> {
        Ok(dice::roll(sides)?.to_string())
    }
}

#[test]
fn a_tool_rolls_and_is_denied() {
    let rolled = Host::new().call(&games::PLUGIN, "roll", json!({ "sides": 6 })).unwrap();
    assert_eq!(rolled.all_text(), "6");
    let denied = Host::new().deny("dice").call(&games::PLUGIN, "roll", json!({ "sides": 6 })).unwrap_err();
    let ToolError::Denied(denial) = denied else { panic!("{denied:?}") };
    assert_eq!(denial.remedy, "Ask the user, who alone can allow it");
}
