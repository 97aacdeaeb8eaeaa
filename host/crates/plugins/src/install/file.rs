//! Plugins in files of this machine, with their signatures in files beside them.

use super::signature::{Evidence, MAX_EVIDENCE};
use crate::package;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

/// A component file by its path without links, so that a reference means the same file from every folder; the error is
/// a sentence.
pub(super) fn component(path: &Path) -> Result<(PathBuf, Vec<u8>), String> {
    let path = path.canonicalize().map_err(|error| format!("it cannot be read: {error}"))?;
    let bytes = package::read_file(&path).map_err(|error| error.to_string())?;
    Ok((path, bytes))
}

/// The signatures beside it.
pub(super) fn evidence(path: &Path) -> Result<Vec<Evidence>, String> {
    let mut found = Vec::new();
    for (ending, kind) in super::BESIDE {
        let mut beside = path.as_os_str().to_owned();
        beside.push(ending);
        match signature(Path::new(&beside)) {
            Ok(text) => found.push(kind(text)),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(format!("its signature {} cannot be read: {error}", beside.to_string_lossy())),
        }
    }
    Ok(found)
}

/// The text of a signature file.
pub(super) fn signature(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    std::fs::File::open(path)?.take(MAX_EVIDENCE + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_EVIDENCE {
        return Err(std::io::Error::other("it is too large to be a signature"));
    }
    Ok(text)
}
