//! Reading a lock file that only its owner can have written.

use rustix::fs::OFlags;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// The largest file that is read. Bounds the memory that a damaged file takes.
const MAX_BYTES: u64 = 4 << 20;

/// The text of the file if it exists. Refuses links and files that everybody may write to.
pub(super) fn read_text(path: &Path) -> Result<Option<String>, String> {
    let flags = i32::try_from((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits()).unwrap_or_default();
    let file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) if path.is_symlink() => {
            return Err(format!("it is a link ({error}); put the file itself here"));
        }
        Err(error) => return Err(format!("cannot read it: {error}")),
    };
    let metadata = file.metadata().map_err(|error| error.to_string())?;
    if !metadata.is_file() {
        return Err("it is not a regular file".into());
    }
    if metadata.permissions().mode() & 0o002 != 0 {
        return Err("everybody may write to it; look through it, then `chmod o-w` it".into());
    }
    let mut text = String::new();
    file.take(MAX_BYTES + 1).read_to_string(&mut text).map_err(|error| format!("cannot read it: {error}"))?;
    if text.len() as u64 > MAX_BYTES {
        return Err(format!("it is larger than {} MiB", MAX_BYTES >> 20));
    }
    Ok(Some(text))
}
