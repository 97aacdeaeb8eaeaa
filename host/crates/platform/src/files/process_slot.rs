//! A number for each process that uses a folder.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The most processes that may use one folder; further ones are refused.
const MOST: u32 = 256;

/// The lowest number that no other process of a folder has. It is free again as soon as its process ends, however it ends. The
/// process that gets it next takes the place of that one.
pub struct ProcessSlot {
    number: u32,
    /// The kernel keeps it locked for as long as it is open.
    _lock: File,
}

impl ProcessSlot {
    pub fn take(folder: &Path) -> io::Result<Self> {
        for number in 1..=MOST {
            let path = folder.join(format!("process-{number}.lock"));
            let file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path)?;
            match file.try_lock() {
                Ok(()) => return Ok(Self { number, _lock: file }),
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
        Err(io::Error::other(format!("{MOST} processes use the folder")))
    }

    /// Whether a process uses the folder now.
    pub fn is_any_taken(folder: &Path) -> bool {
        (1..=MOST).any(|number| {
            let file = File::open(folder.join(format!("process-{number}.lock")));
            file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
        })
    }

    pub fn number(&self) -> u32 {
        self.number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_free_again_when_its_process_has_ended() {
        let folder = tempfile::tempdir().unwrap();
        let take = || ProcessSlot::take(folder.path()).unwrap();
        assert!(!ProcessSlot::is_any_taken(folder.path()));
        let (first, second) = (take(), take());
        assert_eq!((first.number(), second.number()), (1, 2));
        drop(first);
        assert!(ProcessSlot::is_any_taken(folder.path()), "the second");
        assert_eq!((take().number(), second.number()), (1, 2));
    }
}
