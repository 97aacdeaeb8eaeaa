//! How long a transport waits when the server stops.

use std::time::Duration;

/// For running calls to end.
pub(super) const DRAIN_TIMEOUT: Duration = Duration::from_secs(9);
/// For their responses to be sent after that.
pub(super) const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);
