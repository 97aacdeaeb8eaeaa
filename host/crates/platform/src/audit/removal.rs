//! Removing old files. First the new archive is written, then the record that names it, which is the first one of the
//! current file; then the archive takes its place and the files go. After a crash in between, the next removal finishes it.

use super::archive;
use super::event::JournalEvent;
use super::file_end::read_end;
use super::folder::JournalFolder;
use super::hash::Hash;
use super::line;
use serde_json::{Map, Value};
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader};

/// Prepares the removal of all closed files but the newest `keep`, to an archive of so many bytes; `None` if there are
/// no more of them.
pub(super) fn prepare(folder: &JournalFolder, keep: usize, room: u64) -> io::Result<Option<JournalEvent>> {
    let mut closed: Vec<_> = folder.closed()?.into_iter().map(|(_, path)| path).collect();
    closed.truncate(closed.len().saturating_sub(keep));
    let Some(last) = closed.last() else { return Ok(None) };
    let through = read_end(&mut File::open(last)?)?.head.map_or(0, |head| head.seq);
    let file = last.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if folder.archive().exists() {
        closed.insert(0, folder.archive().to_owned());
    }
    let written = folder.create_archive().and_then(|mut file| archive::write(&mut file, &closed, room));
    // On a full disk, half an archive must not take the last of it.
    let archived = written.inspect_err(|_| drop(fs::remove_file(folder.new_archive())))?;
    folder.sync()?;
    Ok(Some(JournalEvent::Removed { file, through, archived }))
}

/// Finishes the removal that the current file begins with, if it is not finished.
pub(super) fn finish(folder: &JournalFolder) -> io::Result<()> {
    let mut first = String::new();
    BufReader::new(File::open(folder.current())?).read_line(&mut first)?;
    let Some(removal) = line::decode(first.trim_end_matches('\n')).and_then(|line| Removal::read(&line.fields)) else {
        return Ok(());
    };
    let written = File::open(folder.new_archive()).and_then(|mut file| Hash::read(&mut file));
    if removal.archive.is_some() && written.ok() == removal.archive {
        fs::rename(folder.new_archive(), folder.archive())?;
        folder.sync()?;
    }
    for (_, path) in folder.closed()? {
        if read_end(&mut File::open(&path)?)?.head.is_none_or(|head| head.seq > removal.through) {
            break;
        }
        fs::remove_file(path)?;
    }
    Ok(())
}

/// What a record says about a removal.
pub(super) struct Removal {
    pub(super) through: u64,
    /// `None` in records of versions that kept nothing.
    pub(super) archive: Option<Hash>,
}

impl Removal {
    /// `None` for other records.
    pub(super) fn read(fields: &Map<String, Value>) -> Option<Self> {
        if fields.get("event")? != "journal" || fields.get("what")? != "removed" {
            return None;
        }
        let archive = fields.get("archive").and_then(Value::as_str).and_then(|hash| hash.parse().ok());
        Some(Self { through: fields.get("through")?.as_u64()?, archive })
    }
}
