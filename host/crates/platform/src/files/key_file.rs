//! Files with keys, passwords and secrets, which nobody but their owner should be able to read.

use super::folder_of;
use super::owner::check_owner;
use crate::random::random_bytes;
use std::fs::{File, Metadata, Permissions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use zeroize::Zeroizing;

fn is_shared(file: &Metadata) -> bool {
    file.permissions().mode() & 0o077 != 0
}

/// Reads a file that the operator wrote, up to one byte more than `longest`, so that callers can detect longer files. Warns if
/// other users can read it, and refuses it if they could have written it. `what` names the file in the warning, such as "the
/// password of a source".
pub fn read_key_file(path: &Path, what: &str, longest: u64) -> io::Result<Zeroizing<String>> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    check_owner(&metadata)?;
    if is_shared(&metadata) {
        tracing::warn!(
            path = %path.display(),
            mode = format!("{:o}", metadata.permissions().mode() & 0o777),
            "{what} can be read by others on this machine: chmod 600 it"
        );
    }
    let mut text = Zeroizing::new(String::new());
    file.take(longest.saturating_add(1)).read_to_string(&mut text)?;
    Ok(text)
}

/// Reads a random key that the host made for itself, and creates it if it is missing. Refuses a key that other users can read.
pub fn read_or_create_key(path: &Path) -> io::Result<[u8; 32]> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return create_key(path),
        Err(error) => return Err(error),
    };
    let metadata = file.metadata()?;
    check_owner(&metadata).map_err(|error| wrong(path, &format!("cannot be used: {error}")))?;
    if is_shared(&metadata) {
        return Err(wrong(
            path,
            "can be read by others on this machine: chmod 600 it, or remove it if one may have read it",
        ));
    }
    let mut bytes = Vec::new();
    Read::by_ref(&mut file).take(33).read_to_end(&mut bytes)?;
    bytes.try_into().map_err(|_| wrong(path, "is not 32 bytes: remove it"))
}

fn wrong(path: &Path, what: &str) -> io::Error {
    let name = path.file_name().unwrap_or_default().display();
    io::Error::other(format!("the key file `{name}` {what}; without it, what it protects is lost"))
}

fn create_key(path: &Path) -> io::Result<[u8; 32]> {
    let key = random_bytes::<32>()?;
    let mut file = tempfile::Builder::new().permissions(Permissions::from_mode(0o600)).tempfile_in(folder_of(path))?;
    file.write_all(&key)?;
    file.as_file().sync_all()?;
    match file.persist_noclobber(path) {
        Ok(_) => Ok(key),
        // Another process was faster; its key is used.
        Err(error) if error.error.kind() == ErrorKind::AlreadyExists => read_or_create_key(path),
        Err(error) => Err(error.error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_key_is_made_once_and_only_for_this_user() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        let key = read_or_create_key(&path).unwrap();
        assert_eq!(read_or_create_key(&path).unwrap(), key);
        assert_eq!(create_key(&path).unwrap(), key, "the first of two processes makes it");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        assert!(read_or_create_key(&path).unwrap_err().to_string().contains("`key` can be read by others"));
        for length in [0, 31, 33] {
            fs::write(&path, vec![7; length]).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
            assert!(read_or_create_key(&path).unwrap_err().to_string().contains("is not 32 bytes"), "{length}");
        }
    }

    #[test]
    fn a_longer_text_is_seen_to_be_longer() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("password");
        fs::write(&path, "hunter22").unwrap();
        assert_eq!([8, 7, 6].map(|longest| read_key_file(&path, "it", longest).unwrap().len()), [8, 8, 7]);
        assert!(read_key_file(&folder.path().join("none"), "it", 8).is_err());
    }
}
