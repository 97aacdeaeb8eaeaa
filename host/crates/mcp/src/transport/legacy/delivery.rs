//! What the sender of a message has to wait for.

use super::event_log::{EventLog, EventLogError, READER_TIMEOUT};
use super::message::EncodedMessage;
use std::sync::Arc;

pub(super) enum MessageDelivery {
    /// The message has no receiver any more.
    Dropped,
    Failed(EventLogError),
    Appended {
        log: Arc<EventLog>,
        number: u32,
        last: bool,
    },
}

impl MessageDelivery {
    pub(super) fn append(log: Arc<EventLog>, message: EncodedMessage, last: bool) -> Self {
        match log.append(message, last) {
            Ok(number) => Self::Appended { log, number, last },
            Err(error) => Self::Failed(error),
        }
    }

    pub(super) async fn wait(self) -> Result<(), EventLogError> {
        match self {
            Self::Dropped => Ok(()),
            Self::Failed(error) => Err(error),
            Self::Appended { log, number, last } => {
                log.wait_stored(number).await;
                // A slow reader delays neither the last message of a request nor those of the standalone stream.
                if last || log.standalone { Ok(()) } else { log.wait_for_reader(READER_TIMEOUT).await }
            }
        }
    }
}
