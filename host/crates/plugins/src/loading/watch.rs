//! Watches files for changes by polling, which also sees files replaced by renaming, retargeted links and network folders. As
//! long as the kernel reports no change in their folders, it polls rarely, so that an idle host sleeps.

use crate::package::FileStamp;
use platform::folder_events::FolderEvents;
use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Time between two polls while something changes. A change is reported once the file is the same in two polls, so that a
/// half-written file is not read.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// Time between two polls while the kernel reports no change.
const QUIET_INTERVAL: Duration = Duration::from_secs(5);

/// A file, as it was last reported and last seen.
#[derive(Debug, Clone)]
struct WatchedFile {
    path: PathBuf,
    reported: Option<FileStamp>,
    seen: Option<FileStamp>,
}

impl WatchedFile {
    /// Updates what was seen; true for a change that is complete.
    fn poll(&mut self, now: Option<FileStamp>) -> bool {
        let is_stable = self.seen == now;
        self.seen = now;
        // A missing file is no change: what was loaded stays until there is a file again.
        let is_change = is_stable && now.is_some() && now != self.reported;
        if is_stable {
            self.reported = now.or(self.reported);
        }
        is_change
    }
}

#[derive(Debug, Clone)]
pub(super) struct FileWatch(Vec<WatchedFile>);

impl FileWatch {
    /// Must be created before the files are read: a change in between is not reported.
    pub(super) fn new(paths: impl IntoIterator<Item = PathBuf>) -> Self {
        let watched = paths.into_iter().map(|path| {
            let now = FileStamp::read(&path);
            WatchedFile { path, reported: now, seen: now }
        });
        Self(watched.collect())
    }

    pub(super) fn add(&mut self, paths: impl IntoIterator<Item = PathBuf>) {
        for path in paths {
            if !self.0.iter().any(|watched| watched.path == path) {
                self.0.extend(Self::new([path]).0);
            }
        }
    }

    /// Waits for complete changes, and returns the files.
    pub(super) async fn changed(&mut self) -> Vec<PathBuf> {
        // Made anew each time, since links and the list of files may have changed. A slow network folder must not block other
        // tasks, here and below.
        let paths = self.paths();
        let events = tokio::task::spawn_blocking(move || folder_events(&paths)).await.ok().flatten();
        let mut is_quiet = false;
        loop {
            match &events {
                Some(events) if is_quiet => {
                    let event = events.next();
                    // An error means that the kernel reports nothing any more; then only polling is left.
                    let told = tokio::time::timeout(QUIET_INTERVAL, event).await;
                    if told.is_ok() {
                        tokio::time::sleep(POLL_INTERVAL).await;
                    }
                }
                _ => tokio::time::sleep(POLL_INTERVAL).await,
            }
            let paths = self.paths();
            let read_all = move || paths.iter().map(|path| FileStamp::read(path)).collect::<Vec<_>>();
            let Ok(stamps) = tokio::task::spawn_blocking(read_all).await else { continue };
            is_quiet = self.0.iter().zip(&stamps).all(|(watched, now)| watched.seen == *now);
            let pairs = self.0.iter_mut().zip(stamps);
            let changed: Vec<_> =
                pairs.filter_map(|(watched, now)| watched.poll(now).then(|| watched.path.clone())).collect();
            if !changed.is_empty() {
                return changed;
            }
        }
    }

    fn paths(&self) -> Vec<PathBuf> {
        self.0.iter().map(|watched| watched.path.clone()).collect()
    }
}

/// Events of the folders of files and of what they link to; none if the kernel cannot watch them all. Blocks.
fn folder_events(files: &[PathBuf]) -> Option<FolderEvents> {
    let folder = |path: &Path| path.parent().map(Path::to_owned);
    let named = files.iter().filter_map(|path| folder(path));
    let targets = files.iter().filter_map(|path| folder(&fs::canonicalize(path).ok()?));
    let folders: HashSet<PathBuf> = named.chain(targets).filter(|folder| folder.is_dir()).collect();
    let watch = || {
        let events = FolderEvents::new()?;
        folders.iter().try_for_each(|folder| events.watch(folder))?;
        Ok::<_, io::Error>(events)
    };
    watch().inspect_err(|error| tracing::debug!(%error, "files are polled, the kernel does not watch them")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(size: u64) -> Option<FileStamp> {
        Some(FileStamp { device: 1, inode: 1, size, modified: (0, 0), changed: (0, 0) })
    }

    #[test]
    fn a_change_is_reported_once_and_only_when_complete() {
        let mut file = WatchedFile { path: "x".into(), reported: stamp(1), seen: stamp(1) };
        assert!(!file.poll(stamp(1)));
        assert!(!file.poll(stamp(2)) && !file.poll(stamp(3)), "it is still being written");
        assert!(file.poll(stamp(3)) && !file.poll(stamp(3)));
        assert!(!file.poll(None) && !file.poll(None), "a missing file is no change");
        assert!(!file.poll(stamp(3)) && !file.poll(stamp(3)), "back as it was");
        assert!(!file.poll(None) && !file.poll(stamp(4)) && file.poll(stamp(4)));
    }

    #[tokio::test]
    async fn sees_a_file_replaced_by_renaming() {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("a"), folder.path().join("b"));
        fs::write(&path, "one").unwrap();
        let mut watch = FileWatch::new([path.clone(), folder.path().join("missing")]);
        fs::write(&other, "two").unwrap();
        fs::rename(&other, &path).unwrap();
        assert_eq!(watch.changed().await, [path]);
    }
}
