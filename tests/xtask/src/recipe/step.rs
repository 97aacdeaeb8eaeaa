//! One step of the recipe for a new import.

use anyhow::{Result, ensure};

pub(super) struct Step {
    /// The row of the recipe's table.
    pub(super) layer: &'static str,
    /// The place that the row names. It covers this file or folder, its neighbour of the new import, and the `mod` lines
    /// beside them.
    pub(super) place: &'static str,
    pub(super) file: &'static str,
    pub(super) change: Change,
}

/// What a step does to its file.
pub(super) enum Change {
    New(&'static str),
    /// Adds a text after an anchor, which stands in the file exactly once.
    After(&'static str, &'static str),
    /// Adds a text before an anchor.
    Before(&'static str, &'static str),
}

impl Step {
    /// The text of a file of the repository with this change.
    pub(super) fn apply(&self, text: &str) -> Result<String> {
        let (anchor, changed) = match self.change {
            Change::New(text) => return Ok(text.to_owned()),
            Change::After(anchor, added) => (anchor, [anchor, added].concat()),
            Change::Before(anchor, added) => (anchor, [added, anchor].concat()),
        };
        let times = text.matches(anchor).count();
        ensure!(times == 1, "an anchor stands {times} times in {}, not once: {anchor}", self.file);
        Ok(text.replace(anchor, &changed))
    }

    pub(super) fn is_new(&self) -> bool {
        matches!(self.change, Change::New(_))
    }
}

/// A list of steps: below a layer and a place of its row, the files with their changes.
macro_rules! steps {
    ($($layer:literal $place:literal { $($file:literal: $change:expr;)+ })+) => {
        &[$($(Step { layer: $layer, place: $place, file: $file, change: $change }),+),+]
    };
}
pub(super) use steps;
