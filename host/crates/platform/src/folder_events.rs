//! Reports that something may have changed in some folders. The kernel does not see every change: it misses those that other
//! machines make in network folders, and a folder that takes the place of another. So an event only makes its reader look
//! sooner.

use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::io::Errno;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// How often one wait reads from the kernel. A program that changes files as fast as they are read must not block this thread.
const MAX_READS: usize = 64;

pub struct FolderEvents(AsyncFd<OwnedFd>);

impl FolderEvents {
    /// Fails if this user already has as many inotify instances as the kernel allows.
    pub fn new() -> io::Result<Self> {
        let events = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        #[allow(deprecated, reason = "sound for an `OwnedFd`; its successor is an unsafe function")]
        let events = AsyncFd::with_interest(events, Interest::READABLE)?;
        Ok(Self(events))
    }

    /// Also reports changes in this folder: files that were written and closed, and names that were added, removed or changed.
    pub fn watch(&self, folder: &Path) -> io::Result<()> {
        let changes = WatchFlags::CLOSE_WRITE
            | WatchFlags::CREATE
            | WatchFlags::ATTRIB
            | WatchFlags::MOVED_TO
            | WatchFlags::MOVED_FROM
            | WatchFlags::DELETE;
        inotify::add_watch(self.0.get_ref(), folder, changes)?;
        Ok(())
    }

    /// Waits until something may have changed since the last time.
    pub async fn next(&self) -> io::Result<()> {
        let mut ready = self.0.readable().await?;
        let mut buffer = [0; 4096];
        for _ in 0..MAX_READS {
            match rustix::io::read(self.0.get_ref(), &mut buffer) {
                Ok(_) => {}
                Err(Errno::AGAIN) => {
                    ready.clear_ready();
                    break;
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::time::Duration;
    use tokio::time::timeout;

    #[tokio::test]
    async fn a_replaced_file_is_an_event() {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("a"), folder.path().join("b"));
        fs::write(&path, "one").unwrap();
        fs::write(&other, "two").unwrap();
        let events = FolderEvents::new().unwrap();
        events.watch(folder.path()).unwrap();
        assert!(events.watch(&folder.path().join("none")).is_err());
        assert!(timeout(Duration::ZERO, events.next()).await.is_err(), "nothing happened");
        fs::rename(&other, &path).unwrap();
        events.next().await.unwrap();
        assert!(timeout(Duration::ZERO, events.next()).await.is_err(), "told once");
        fs::write(&path, "three").unwrap();
        events.next().await.unwrap();
    }
}
