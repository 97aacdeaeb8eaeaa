//! The lane that a reverse call takes, for its record.

use std::sync::{Arc, OnceLock};

/// The lane of a reverse call, set once by whoever chooses it. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct LaneCell(Arc<OnceLock<&'static str>>);

impl LaneCell {
    pub fn take(&self, lane: &'static str) {
        // A later choice is made within the lane that was chosen first, so the first one stays.
        let _ = self.0.set(lane);
    }

    /// `none` when no lane was chosen.
    pub fn name(&self) -> &'static str {
        self.0.get().copied().unwrap_or("none")
    }
}
