//! Metadata that differs between two versions of a file.

use serde::{Deserialize, Serialize};
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

/// A file that was changed this recently may be changed again without another stamp: clocks of file systems tick slowly.
const SETTLED: Duration = Duration::from_secs(2);

/// It contains the time of change, which no program can set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileStamp {
    pub device: u64,
    pub inode: u64,
    pub size: u64,
    /// Seconds since 1970, and nanoseconds.
    pub modified: (i64, i64),
    pub changed: (i64, i64),
}

impl FileStamp {
    /// Follows links; none when there is no file.
    pub fn read(path: &Path) -> Option<Self> {
        fs::metadata(path).ok().as_ref().map(Self::from_metadata)
    }

    pub fn from_metadata(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// Whether a file with this stamp still had the same bytes at `now`, the time since 1970.
    pub fn is_settled(&self, now: Duration) -> bool {
        let newest = self.modified.0.max(self.changed.0);
        i64::try_from(now.saturating_sub(SETTLED).as_secs()).is_ok_and(|past| newest < past)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fresh_stamp_is_not_settled() {
        let stamp = |modified, changed| FileStamp { device: 1, inode: 1, size: 1, modified, changed };
        let now = Duration::from_secs(1_000);
        assert!(stamp((990, 0), (997, 0)).is_settled(now));
        assert!(!stamp((990, 0), (998, 0)).is_settled(now), "it may have changed less than two seconds ago");
        assert!(!stamp((2_000, 0), (990, 0)).is_settled(now), "its clock is ahead");
    }
}
