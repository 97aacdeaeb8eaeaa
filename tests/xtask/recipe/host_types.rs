//! `dice`: random numbers from 1 to a number of sides.

use super::call_scope::CallScope;
use super::import_span::ErrorName;
use super::types::GuestDenial;
use policy::uses::DiceUse;

#[derive(Debug, Clone, PartialEq)]
pub enum RollError {
    Denied(GuestDenial),
    Invalid(String),
}

impl ErrorName for RollError {
    fn error_name(&self) -> &'static str {
        match self {
            Self::Denied(_) => "denied",
            Self::Invalid(_) => "invalid",
        }
    }
}

/// Rolls a die; implemented by `services::dice`.
pub trait DiceRoller: Send + Sync {
    /// `sides` is at least 1.
    fn roll(&self, sides: u32) -> Result<u32, RollError>;
}

/// A host without dice.
pub(super) struct NoDice;

impl DiceRoller for NoDice {
    fn roll(&self, _sides: u32) -> Result<u32, RollError> {
        Err(RollError::Invalid("there are no dice here".into()))
    }
}

/// One call's access to dice.
pub struct Dice<'a> {
    scope: &'a CallScope,
    roller: &'a dyn DiceRoller,
}

impl<'a> Dice<'a> {
    pub(super) fn new(scope: &'a CallScope, roller: &'a dyn DiceRoller) -> Self {
        Self { scope, roller }
    }

    pub fn roll(&self, sides: u32) -> Result<u32, RollError> {
        let authority = &self.scope.authority;
        authority.enforce(authority.decide(&DiceUse.into())).map_err(RollError::Denied)?;
        if sides == 0 {
            return Err(RollError::Invalid("a die has at least one side".into()));
        }
        self.roller.roll(sides)
    }
}
