//! How long to wait before memory or sleep is measured.

use std::time::Duration;

/// Long enough for the work that a server does after it started to listen or has answered.
pub(super) const SETTLE: Duration = Duration::from_millis(500);
