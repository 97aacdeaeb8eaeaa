//! Removes from the cache on disk what nobody has used for a long time: code of plugins that are gone, and of older engines.

use platform::files::UNFINISHED;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// How long an entry is kept that nobody uses. To make one again takes seconds.
const UNUSED: Duration = Duration::from_secs(60 * 24 * 3600);
/// Bytes of all entries; those that were used longest ago go first. Bounds what many versions of large plugins leave behind.
const MAX_BYTES: u64 = 4 << 30;
/// How exactly the time of the last use is kept. Bounds how often it is written.
const PRECISION: Duration = Duration::from_secs(24 * 3600);
/// The extensions of the cache's files. Other files in the folder, such as the key and the folders of tools, are left alone.
const KINDS: [&str; 3] = ["bin", "note", "lock"];
/// An unfinished file of this age was left by a process that was killed: writing an entry never takes so long.
const ABANDONED: Duration = Duration::from_secs(24 * 3600);

/// Notes that an entry is used.
pub(super) fn mark_used(entry: &File, now: SystemTime) -> io::Result<()> {
    match now.duration_since(entry.metadata()?.modified()?) {
        Ok(age) if age > PRECISION => entry.set_modified(now),
        _ => Ok(()),
    }
}

/// Removes old entries, and returns how many. What cannot be removed stays.
pub(super) fn prune(folder: &Path, now: SystemTime) -> io::Result<usize> {
    prune_to(folder, now, MAX_BYTES)
}

fn prune_to(folder: &Path, now: SystemTime, most: u64) -> io::Result<usize> {
    let (mut entries, mut removed) = (Vec::new(), 0);
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        // It may be gone by now: another process prunes, too.
        let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
        if !metadata.is_file() {
            continue;
        }
        let used = metadata.modified()?;
        let is_unfinished =
            path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(UNFINISHED.as_bytes()));
        if is_unfinished && now.duration_since(used).is_ok_and(|age| age > ABANDONED) {
            removed += usize::from(fs::remove_file(&path).is_ok());
        } else if path.extension().and_then(|end| end.to_str()).is_some_and(|end| KINDS.contains(&end)) {
            entries.push((used, metadata.len(), path));
        }
    }
    entries.sort();
    let mut bytes: u64 = entries.iter().map(|(_, bytes, _)| bytes).sum();
    let is_old = |used: SystemTime| now.duration_since(used).is_ok_and(|age| age > UNUSED);
    for (used, size, path) in entries {
        if !is_old(used) && bytes <= most {
            break;
        }
        bytes -= size;
        removed += usize::from(fs::remove_file(&path).is_ok());
    }
    Ok(removed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use platform::clock::{Clock as _, SystemClock};

    const DAY: Duration = Duration::from_secs(24 * 3600);

    #[test]
    fn what_was_used_longest_ago_goes_first() {
        let folder = tempfile::tempdir().unwrap();
        let now = SystemClock.wall();
        let write = |name: &str, days: u32, bytes: usize| {
            let path = folder.path().join(name);
            fs::write(&path, vec![0; bytes]).unwrap();
            File::open(&path).unwrap().set_modified(now - days * DAY).unwrap();
        };
        write("key", 900, 32);
        fs::create_dir(folder.path().join("toolchains.bin")).unwrap();
        for (name, days) in [("a.bin", 61), ("a.note", 61), ("b.bin", 59), ("c.bin", 2), ("d.bin", 1)] {
            write(name, days, 10);
        }
        write(".portcullis-old", 2, 1_000);
        write(".portcullis-new", 0, 1_000);
        mark_used(&File::open(folder.path().join("b.bin")).unwrap(), now).unwrap();
        assert_eq!(prune_to(folder.path(), now, 1_000).unwrap(), 3);
        assert_eq!(prune_to(folder.path(), now, 20).unwrap(), 1);
        let mut left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(
            left,
            [".portcullis-new", "b.bin", "d.bin", "key", "toolchains.bin"],
            "b.bin was used again, c.bin was used before d.bin, and one file may still be written"
        );
    }
}
