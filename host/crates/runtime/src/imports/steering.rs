//! `steering`: messages to a call that is already running.

use platform::sync::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;

/// Unread messages of one call. Bounds what the host keeps for a call that never reads.
const MAX_WAITING: usize = 16;
/// Length of one message in bytes.
pub const MAX_MESSAGE: usize = 4_096;

/// The queue of messages to one call. Clones share the queue.
#[derive(Debug, Clone, Default)]
pub struct Steering(Arc<Mutex<VecDeque<String>>>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SteeringError {
    #[error("the call has {MAX_WAITING} messages that it has not read; wait until it has read some")]
    Full,
    /// Empty or too long.
    #[error("a message is 1 to {MAX_MESSAGE} bytes of text")]
    Length,
}

impl Steering {
    pub fn say(&self, message: &str) -> Result<(), SteeringError> {
        if message.is_empty() || message.len() > MAX_MESSAGE {
            return Err(SteeringError::Length);
        }
        let mut waiting = self.0.lock();
        if waiting.len() >= MAX_WAITING {
            return Err(SteeringError::Full);
        }
        waiting.push_back(message.to_owned());
        Ok(())
    }

    /// Removes and returns the oldest message.
    pub fn next(&self) -> Option<String> {
        self.0.lock().pop_front()
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
