//! Component files that change on disk. They are looked at again and again instead of asking the kernel to tell: that
//! sees a file that is replaced by renaming, a link that points elsewhere, and a network folder alike, and costs a few
//! system calls a second.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often files are looked at. A change counts once the file stayed the same from one look to the next, so that a
/// file that is still being written is not taken half.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// What tells one state of a file from another, without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    /// Of the file that is there now, behind any links; none when there is none.
    fn of(path: &Path) -> Option<Self> {
        let metadata = fs::metadata(path).ok()?;
        Some(Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        })
    }
}

/// One file: what was told of it last, and what was seen last.
#[derive(Debug, Clone)]
struct Watched {
    path: PathBuf,
    told: Option<Stamp>,
    seen: Option<Stamp>,
}

impl Watched {
    /// Notes what is there now; whether it is something new that has come to rest.
    fn look(&mut self, now: Option<Stamp>) -> bool {
        let rests = self.seen == now;
        self.seen = now;
        // A file that is gone will come back, or what is loaded of it stays.
        let news = rests && now.is_some() && now != self.told;
        if rests {
            self.told = now.or(self.told);
        }
        news
    }
}

/// Watches files.
#[derive(Debug, Clone)]
pub struct FileWatch(Vec<Watched>);

impl FileWatch {
    /// From now on: make it before the files are read, or a change in between is missed.
    pub fn new(paths: impl IntoIterator<Item = PathBuf>) -> Self {
        let watched = paths.into_iter().map(|path| {
            let now = Stamp::of(&path);
            Watched { path, told: now, seen: now }
        });
        Self(watched.collect())
    }

    /// Watches these from now on, too.
    pub fn follow(&mut self, paths: impl IntoIterator<Item = PathBuf>) {
        for path in paths {
            if !self.0.iter().any(|watched| watched.path == path) {
                self.0.extend(Self::new([path]).0);
            }
        }
    }

    /// Waits until files have changed and come to rest, and says which.
    pub async fn changed(&mut self) -> Vec<PathBuf> {
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            let paths: Vec<_> = self.0.iter().map(|watched| watched.path.clone()).collect();
            // A network folder may take its time, which is not the other calls'.
            let look = move || paths.iter().map(|path| Stamp::of(path)).collect::<Vec<_>>();
            let Ok(stamps) = tokio::task::spawn_blocking(look).await else { continue };
            let looked = self.0.iter_mut().zip(stamps);
            let changed: Vec<_> =
                looked.filter_map(|(watched, now)| watched.look(now).then(|| watched.path.clone())).collect();
            if !changed.is_empty() {
                return changed;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(size: u64) -> Option<Stamp> {
        Some(Stamp { device: 1, inode: 1, size, modified: (0, 0), changed: (0, 0) })
    }

    #[test]
    fn a_change_is_told_once_and_only_at_rest() {
        let mut file = Watched { path: "x".into(), told: stamp(1), seen: stamp(1) };
        assert!(!file.look(stamp(1)));
        assert!(!file.look(stamp(2)) && !file.look(stamp(3)), "it is still being written");
        assert!(file.look(stamp(3)) && !file.look(stamp(3)));
        assert!(!file.look(None) && !file.look(None), "gone is no change to load");
        assert!(!file.look(stamp(3)) && !file.look(stamp(3)), "back as it was");
        assert!(!file.look(None) && !file.look(stamp(4)) && file.look(stamp(4)));
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
