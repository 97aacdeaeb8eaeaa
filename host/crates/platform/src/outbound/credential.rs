//! A password or a key in a file: read when it is needed, shown to nobody.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use zeroize::Zeroizing;

/// The text of a file, up to one byte more than `longest`, so that a longer one can be told. That others can read it is
/// worth a warning; `what` names it there, such as "the password of a source".
pub fn credential(path: &Path, what: &str, longest: u64) -> io::Result<Zeroizing<String>> {
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
