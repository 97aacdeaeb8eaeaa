//! Removes old files. First the new archive is written, and then the record with its hash, which is the first one of the
//! current file. After that the new archive replaces the old one, and the files are removed. If a crash interrupts this, the
//! next removal finishes it.

use super::archive;
use super::event::AuditLogEvent;
use super::file_end::read_end;
use super::folder::AuditFolder;
use super::hash::Hash;
use super::line;
use serde_json::{Map, Value};
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader};

/// Prepares the removal of all closed files except the newest `keep`, with an archive of at most `room` bytes. `None` if there
/// are no others.
pub(super) fn prepare(folder: &AuditFolder, keep: usize, room: u64) -> io::Result<Option<AuditLogEvent>> {
    let mut closed: Vec<_> = folder.closed()?.into_iter().map(|(_, path)| path).collect();
    closed.truncate(closed.len().saturating_sub(keep));
    let Some(last) = closed.last() else { return Ok(None) };
    let through = read_end(&mut File::open(last)?)?.head.map_or(0, |head| head.seq);
    let file = last.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if folder.archive().exists() {
        closed.insert(0, folder.archive().to_owned());
    }
    let written = folder.create_archive().and_then(|mut file| archive::write(&mut file, &closed, room));
    // If the disk is full, an incomplete archive must not take up its last space.
    let archived = written.inspect_err(|_| drop(fs::remove_file(folder.new_archive())))?;
    folder.sync()?;
    Ok(Some(AuditLogEvent::Removed { file, through, archived }))
}

/// Finishes the removal that the first record of the current file describes, if it is not finished yet.
pub(super) fn finish(folder: &AuditFolder) -> io::Result<()> {
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

/// What a record contains about a removal.
pub(super) struct Removal {
    pub(super) through: u64,
    /// `None` in records of earlier versions, which kept nothing.
    pub(super) archive: Option<Hash>,
}

impl Removal {
    /// `None` for records of any other kind.
    pub(super) fn read(fields: &Map<String, Value>) -> Option<Self> {
        if fields.get("event")? != "journal" || fields.get("what")? != "removed" {
            return None;
        }
        let archive = fields.get("archive").and_then(Value::as_str).and_then(|hash| hash.parse().ok());
        Some(Self { through: fields.get("through")?.as_u64()?, archive })
    }
}
