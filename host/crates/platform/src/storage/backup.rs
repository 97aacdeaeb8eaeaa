//! Copies the databases of a state folder, even while a server is running.

use super::error::StorageError;
use super::open::private;
use super::state_files::{STATE_FILES, StateFile, read_only, unreadable};
use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// A copied database.
#[derive(Debug)]
pub struct CopiedFile {
    pub file: &'static str,
    /// What the database contains.
    pub content: &'static str,
    pub bytes: u64,
}

/// Copies each database that is worth a copy into a folder, which is created if it is missing. Each copy contains what was
/// committed at one moment, and is on the disk when it is reported. A copy never replaces a file. Blocks.
pub fn back_up_state(folder: &Path, target: &Path) -> Result<Vec<CopiedFile>, StorageError> {
    private(target)?;
    let unusable = |error: io::Error| StorageError::Folder { path: target.to_owned(), problem: error.to_string() };
    let there = STATE_FILES.iter().filter(|file| file.is_copied && folder.join(file.name).exists());
    let mut copied = Vec::new();
    for file in there {
        copied.push(copy(file, folder, target)?);
    }
    File::open(target).and_then(|folder| folder.sync_all()).map_err(unusable)?;
    Ok(copied)
}

fn copy(file: &StateFile, folder: &Path, target: &Path) -> Result<CopiedFile, StorageError> {
    let (from, to) = (folder.join(file.name), target.join(file.name));
    let fail = |problem: String| StorageError::Copy { from: from.clone(), to: to.clone(), problem };
    if to.exists() {
        return Err(fail("there is one already; choose another folder".to_owned()));
    }
    let connection = read_only(&from)?;
    // The copy does not change the file itself, but SQLite treats it as a write.
    connection.pragma_update(None, "query_only", false).map_err(|error| unreadable(&from, &error))?;
    let mut beside = tempfile::Builder::new();
    beside.prefix(".portcullis-").permissions(Permissions::from_mode(0o600));
    let beside = beside.tempfile_in(target).map_err(|error| fail(error.to_string()))?;
    let path = beside.path().to_str().ok_or_else(|| fail("its path is not Unicode".to_owned()))?;
    connection.execute("VACUUM INTO ?1", [path]).map_err(|error| fail(error.to_string()))?;
    drop(connection);
    let copy = read_only(beside.path())?;
    let sound: String =
        copy.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).map_err(|error| fail(error.to_string()))?;
    if sound != "ok" {
        return Err(fail(sound));
    }
    drop(copy);
    beside.as_file().sync_all().map_err(|error| fail(error.to_string()))?;
    beside.persist_noclobber(&to).map_err(|error| fail(error.error.to_string()))?;
    let bytes = fs::metadata(&to).map(|metadata| metadata.len()).unwrap_or_default();
    Ok(CopiedFile { file: file.name, content: file.content, bytes })
}
