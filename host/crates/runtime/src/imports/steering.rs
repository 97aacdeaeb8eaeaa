//! `steering`: what is said to a call that is already running.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// Messages that a call has not read. Bounds what somebody can make the host keep for a call that never looks.
const MAX_WAITING: usize = 16;
/// One message, in bytes.
pub const MAX_MESSAGE: usize = 4_096;

/// What is said to one call, by anybody who may. Clones are the same.
#[derive(Debug, Clone, Default)]
pub struct Steering(Arc<Mutex<VecDeque<String>>>);

/// Why a message was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SteeringError {
    /// Too many wait.
    #[error("the call has {MAX_WAITING} messages that it has not read; wait until it has read some")]
    Full,
    /// Too long, or empty.
    #[error("a message is 1 to {MAX_MESSAGE} bytes of text")]
    Length,
}

impl Steering {
    /// Leaves a message.
    pub fn say(&self, message: &str) -> Result<(), SteeringError> {
        if message.is_empty() || message.len() > MAX_MESSAGE {
            return Err(SteeringError::Length);
        }
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.len() >= MAX_WAITING {
            return Err(SteeringError::Full);
        }
        waiting.push_back(message.to_owned());
        Ok(())
    }

    /// The oldest message, which is then read.
    pub fn next(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_in_order_and_are_bounded() {
        let steering = Steering::default();
        assert_eq!(steering.say(""), Err(SteeringError::Length));
        assert_eq!(steering.say(&"x".repeat(MAX_MESSAGE + 1)), Err(SteeringError::Length));
        for at in 0..MAX_WAITING {
            steering.clone().say(&at.to_string()).unwrap();
        }
        assert_eq!(steering.say("more"), Err(SteeringError::Full));
        assert_eq!((steering.next().as_deref(), steering.next().as_deref()), (Some("0"), Some("1")));
    }
}
