//! Plugins in files of this machine.

use super::found::Found;
use crate::package;
use crate::policy::Digest;
use std::path::Path;

/// Reads a component file; the error is a sentence.
pub(super) fn fetch(path: &Path) -> Result<Found, String> {
    // The path as it is without links, so that the same reference means the same file from every folder.
    let path = path.canonicalize().map_err(|error| format!("it cannot be read: {error}"))?;
    let bytes = package::read_file(&path).map_err(|error| error.to_string())?;
    let digest = Digest::of(&bytes);
    Ok(Found { bytes, digest, resolved: format!("file:{}", path.display()), signer: None })
}
