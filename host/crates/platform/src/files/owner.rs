//! Checks who could have changed the files that the host relies on.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;

const ROOT: u32 = 0;

/// Refuses a file or folder that somebody else could have written or could still write: one that belongs to neither this user
/// nor root, or that others may write to. Others would control its contents, whatever its key or digest says.
pub fn check_owner(metadata: &Metadata) -> io::Result<()> {
    // Nobody can write to a link. The user who made it decides where it leads.
    let mode = if metadata.is_symlink() { 0 } else { metadata.mode() };
    check_access(metadata.uid(), mode)
}

/// The same check for something with this owner and these permission bits.
pub fn check_access(owner: u32, mode: u32) -> io::Result<()> {
    check(owner, mode, rustix::process::geteuid().as_raw())
}

fn check(owner: u32, mode: u32, us: u32) -> io::Result<()> {
    if owner != us && owner != ROOT {
        return Err(io::Error::other(format!(
            "it belongs to another user of this machine (uid {owner}), who can change it: use one of your own, or chown it"
        )));
    }
    if mode & 0o022 != 0 {
        return Err(io::Error::other(format!(
            "others on this machine can write to it (mode {:o}): chmod go-w it, if nobody has",
            mode & 0o7777
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_others_cannot_change_is_relied_on() {
        let (us, other) = (1_000, 1_001);
        for (owner, mode, good) in [
            (us, 0o100_600, true),
            (us, 0o040_755, true),
            (ROOT, 0o100_644, true),
            (us, 0o040_775, false),
            (us, 0o100_602, false),
            (ROOT, 0o041_777, false),
            (other, 0o040_700, false),
            (other, 0o100_600, false),
        ] {
            let checked = check(owner, mode, us);
            assert_eq!(checked.is_ok(), good, "{owner} {mode:o}: {checked:?}");
        }
        assert!(check(us, 0o040_700, ROOT).is_err(), "root does not rely on what users can change");
    }
}
