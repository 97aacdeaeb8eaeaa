//! Reads passwords and keys from files.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use zeroize::Zeroizing;

/// Reads a file up to one byte more than `longest`, so that callers can detect longer ones. Warns if other users can
/// read it; `what` names it in the warning, such as "the password of a source".
pub fn read_credential(path: &Path, what: &str, longest: u64) -> io::Result<Zeroizing<String>> {
    let file = File::open(path)?;
    let mode = file.metadata()?.permissions().mode();
    if mode & 0o077 != 0 {
        tracing::warn!(
            path = %path.display(),
            mode = format!("{:o}", mode & 0o777),
            "{what} can be used by others on this machine: chmod 600 it"
        );
    }
    let mut text = Zeroizing::new(String::new());
    file.take(longest + 1).read_to_string(&mut text)?;
    Ok(text)
}
