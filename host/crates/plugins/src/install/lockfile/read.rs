//! Reading a lock file that only its owner can have written.

use platform::folder::Folder;
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// The largest file that is read. Bounds the memory that a damaged file takes.
const MAX_BYTES: u64 = 4 << 20;

/// The folder of a lock file, and the file's name in it.
pub(super) fn split(path: &Path) -> Result<(&Path, &Path), String> {
    let name = path.file_name().ok_or("it names no file")?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    Ok((folder.unwrap_or(Path::new(".")), Path::new(name)))
}

/// The text of the file if it exists. Refuses links and files that everybody may write to.
pub(super) fn read_text(folder: &Folder, name: &Path) -> Result<Option<String>, String> {
    let file = match folder.open_file(name) {
        Ok(Some(file)) => file,
        Ok(None) => return Err("it is a link, or not a regular file; put the file itself here".into()),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("cannot read it: {error}")),
    };
    let metadata = file.metadata().map_err(|error| error.to_string())?;
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
