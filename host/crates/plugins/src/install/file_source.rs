//! Components in local files, with their signatures in files beside them.

use super::signature::{MAX_SIGNATURE_BYTES, SIGNATURE_FILES, UnverifiedSignature};
use crate::package;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

/// Reads a component. Returns its canonical path too, so that the reference works from every folder.
pub(super) fn read_component(path: &Path) -> Result<(PathBuf, Vec<u8>), String> {
    let path = path.canonicalize().map_err(|error| format!("it cannot be read: {error}"))?;
    let bytes = package::read_file(&path).map_err(|error| error.to_string())?;
    Ok((path, bytes))
}

/// Reads the signature files beside a component.
pub(super) fn find_signatures(path: &Path) -> Result<Vec<UnverifiedSignature>, String> {
    let mut found = Vec::new();
    for (ending, from_text) in SIGNATURE_FILES {
        let mut beside = path.as_os_str().to_owned();
        beside.push(ending);
        match read_signature(Path::new(&beside)) {
            Ok(text) => found.push(from_text(text)),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(format!("its signature {} cannot be read: {error}", beside.to_string_lossy())),
        }
    }
    Ok(found)
}

pub(super) fn read_signature(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    std::fs::File::open(path)?.take(MAX_SIGNATURE_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_SIGNATURE_BYTES {
        return Err(std::io::Error::other("it is too large to be a signature"));
    }
    Ok(text)
}
