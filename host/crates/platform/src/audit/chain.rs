//! Appending to the log. Several processes may append, one at a time, to one chain.

use super::event::{AuditEvent, AuditLogEvent};
use super::file_end::read_end;
use super::folder::AuditFolder;
use super::line::{self, Head};
use super::record::AuditRecord;
use super::removal;
use super::settings::AuditSettings;
use policy::Digest;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

/// The log, open for appending.
pub(super) struct Chain {
    folder: AuditFolder,
    max_size: u64,
    keep: usize,
    /// The file, and its end after the last append, to detect writes by other processes.
    open: Option<OpenFile>,
    /// Events of the log itself that are written with the next records.
    notes: Vec<AuditLogEvent>,
}

struct OpenFile {
    file: File,
    inode: u64,
    length: u64,
    head: Head,
}

impl Chain {
    /// Opens the log of a folder, which is created if it is missing.
    pub(super) fn open(folder: &Path, settings: &AuditSettings) -> io::Result<Self> {
        let folder = AuditFolder::new(folder);
        folder.create()?;
        let keep = usize::try_from(settings.keep.get()).unwrap_or(usize::MAX);
        Ok(Self { folder, max_size: settings.max_size.as_u64().max(1), keep, open: None, notes: Vec::new() })
    }

    /// Appends records and syncs them to the disk. If it fails, none of them is in the file. Blocks.
    pub(super) fn append(&mut self, unix: Duration, records: &[(Duration, AuditRecord)]) -> io::Result<Head> {
        let _locked = self.folder.lock()?;
        let mut open = match self.open.take().filter(|open| self.is_current(open)) {
            Some(open) => open,
            None => self.find_end()?,
        };
        let mut notes = self.notes.clone();
        let mut removes = false;
        if open.length >= self.max_size {
            removal::finish(&self.folder)?;
            self.folder.rotate()?;
            open = self.open_file(open.head)?;
            if let Some(removed) = removal::prepare(&self.folder, self.keep, self.max_size)? {
                // It becomes the first line of its file, where the next removal looks for it.
                notes.insert(0, removed);
                removes = true;
            }
        }
        let notes: Vec<_> = notes
            .into_iter()
            .map(|note| (unix, AuditRecord::for_operator(None, None, AuditEvent::Log(note))))
            .collect();
        let mut text = Vec::with_capacity((notes.len() + records.len()) * line::LINE_CAPACITY);
        let mut head = open.head;
        for (unix, record) in notes.iter().chain(records) {
            head = line::encode(record, *unix, head, &mut text);
        }
        if let Err(error) = open.file.write_all(&text).and_then(|()| open.file.sync_data()) {
            // A part of the records would look like the result of a crash.
            open.file.set_len(open.length)?;
            return Err(error);
        }
        // The head is noted after the sync. So if a noted head is not in the file, somebody has removed it.
        self.notes.clear();
        self.folder.note(head)?;
        if removes && let Err(error) = removal::finish(&self.folder) {
            // The records are written. The next removal tries again to remove the files.
            tracing::error!(%error, "old files of the audit log cannot be removed");
        }
        let length = open.length + text.len() as u64;
        self.open = Some(OpenFile { length, head, ..open });
        Ok(head)
    }

    /// Finds the end of the chain, and records what was wrong with it. Blocks.
    pub(super) fn recover(&mut self, unix: Duration) -> io::Result<Head> {
        let head = {
            let _locked = self.folder.lock()?;
            let open = self.find_end()?;
            self.open.insert(open).head
        };
        if self.notes.is_empty() { Ok(head) } else { self.append(unix, &[]) }
    }

    /// Whether no other process has written since the last append.
    fn is_current(&self, open: &OpenFile) -> bool {
        fs::metadata(self.folder.current()).is_ok_and(|found| found.ino() == open.inode && found.len() == open.length)
    }

    fn open_file(&self, head: Head) -> io::Result<OpenFile> {
        let file = self.folder.open_current()?;
        self.folder.sync()?;
        let found = file.metadata()?;
        Ok(OpenFile { file, inode: found.ino(), length: found.len(), head })
    }

    /// Reads the end from the disk, and notes what is wrong with it.
    fn find_end(&mut self) -> io::Result<OpenFile> {
        let mut open = self.open_file(Head::START)?;
        let mut found = read_end(&mut open.file)?;
        if !found.torn.is_empty() {
            let (bytes, digest) = (found.torn.len() as u64, Digest::sha256(&found.torn).to_string());
            tracing::warn!(bytes, "the last line of the audit log was incomplete and is taken off");
            open.length -= bytes;
            open.file.set_len(open.length)?;
            self.notes.push(AuditLogEvent::Repaired { bytes, digest });
        }
        if open.length == 0
            && let Some((_, last)) = self.folder.closed()?.last()
        {
            found = read_end(&mut File::open(last)?)?;
        }
        let noted = self.folder.noted();
        open.head = match (found.head, found.claimed_seq, noted) {
            (None, Some(claimed), Some(noted)) => report_damage(noted, claimed, &mut self.notes),
            (None, Some(_), None) => {
                return Err(io::Error::other(
                    "its last line was changed and no head is noted: move the files away, and a new chain begins",
                ));
            }
            (Some(head), _, None) => head,
            (None, None, None) => Head::START,
            (found, None | Some(_), Some(noted)) => {
                let found = found.unwrap_or(Head::START);
                // A crash between writing and noting leaves more lines than were noted, never fewer.
                if found.seq > noted.seq || found == noted {
                    found
                } else {
                    report_damage(noted, found.seq, &mut self.notes)
                }
            }
        };
        Ok(open)
    }
}

/// The chain continues after the noted head, so that missing records stay visible.
fn report_damage(noted: Head, found: u64, notes: &mut Vec<AuditLogEvent>) -> Head {
    tracing::error!(
        noted = noted.seq,
        found,
        "the audit log does not end where it was left: somebody has changed or cut it; see `portcullis audit verify`"
    );
    notes.push(AuditLogEvent::Damaged { noted: noted.seq, found });
    noted
}
