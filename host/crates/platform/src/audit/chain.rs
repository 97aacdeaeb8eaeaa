//! Appending to the journal: several processes may, one at a time, and the chain stays one.

use super::event::{Event, Upkeep};
use super::files::Folder;
use super::line::{self, Head};
use super::{AuditSettings, Record};
use policy::Digest;
use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

/// The journal, to be appended to.
pub(super) struct Chain {
    folder: Folder,
    max_size: u64,
    keep: usize,
    /// The file as it was left, to see whether somebody else has written since.
    left: Option<Left>,
    /// What must be said about it with the next records.
    notes: Vec<Upkeep>,
}

struct Left {
    file: File,
    inode: u64,
    length: u64,
    head: Head,
}

/// How a file ends.
struct End {
    /// The last whole line; none when there is none.
    head: Option<Head>,
    /// The number that the last whole line claims, if it is not as it was written.
    wrong: Option<u64>,
    /// What comes after it.
    torn: Vec<u8>,
}

impl Chain {
    /// In this folder, which is made when it is missing.
    pub(super) fn open(folder: &Path, settings: &AuditSettings) -> io::Result<Self> {
        let folder = Folder::at(folder);
        folder.make()?;
        let keep = usize::try_from(settings.keep.get()).unwrap_or(usize::MAX);
        Ok(Self { folder, max_size: settings.max_size.as_u64().max(1), keep, left: None, notes: Vec::new() })
    }

    /// Appends records and sees them to the disk. When it fails nothing of them is there. Blocks.
    pub(super) fn append(&mut self, unix: Duration, records: &[(Duration, Record)]) -> io::Result<Head> {
        let _locked = self.folder.lock()?;
        let mut left = match self.left.take().filter(|left| self.is_current(left)) {
            Some(left) => left,
            None => self.find_end()?,
        };
        let mut notes = self.notes.clone();
        let mut obsolete = Vec::new();
        if left.length >= self.max_size {
            self.folder.rotate()?;
            left = self.begin_file(left.head)?;
            let closed = self.folder.closed()?;
            for (_, path) in closed.iter().take(closed.len().saturating_sub(self.keep)) {
                let through = end(&mut File::open(path)?)?.head.map_or(0, |head| head.seq);
                let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                notes.push(Upkeep::Removed { file, through });
                obsolete.push(path.clone());
            }
        }
        let notes: Vec<_> =
            notes.into_iter().map(|note| (unix, Record::of_operator(None, None, Event::Journal(note)))).collect();
        let (mut text, mut head) = (String::new(), left.head);
        for (unix, record) in notes.iter().chain(records) {
            let (line, next) = line::write(record, *unix, head);
            text.push_str(&line);
            head = next;
        }
        if let Err(error) = left.file.write_all(text.as_bytes()).and_then(|()| left.file.sync_data()) {
            // What was half written would be taken for what a crash has left.
            left.file.set_len(left.length)?;
            return Err(error);
        }
        // Noted after it is on the disk: a noted head that is not there was taken away.
        self.notes.clear();
        self.folder.note(head)?;
        for path in obsolete {
            fs::remove_file(path)?;
        }
        let length = left.length + text.len() as u64;
        self.left = Some(Left { length, head, ..left });
        Ok(head)
    }

    /// Where the chain ends, if it can be appended to; what was wrong with its end is recorded. Blocks.
    pub(super) fn settle(&mut self, unix: Duration) -> io::Result<Head> {
        let head = {
            let _locked = self.folder.lock()?;
            let left = self.find_end()?;
            self.left.insert(left).head
        };
        if self.notes.is_empty() { Ok(head) } else { self.append(unix, &[]) }
    }

    /// Whether nobody else has written since.
    fn is_current(&self, left: &Left) -> bool {
        fs::metadata(self.folder.current()).is_ok_and(|found| found.ino() == left.inode && found.len() == left.length)
    }

    fn begin_file(&self, head: Head) -> io::Result<Left> {
        let file = self.folder.open_current()?;
        self.folder.sync()?;
        let found = file.metadata()?;
        Ok(Left { file, inode: found.ino(), length: found.len(), head })
    }

    /// Finds the end as it is on the disk, and what must be said about it.
    fn find_end(&mut self) -> io::Result<Left> {
        let mut left = self.begin_file(Head::START)?;
        let mut found = end(&mut left.file)?;
        if !found.torn.is_empty() {
            let (bytes, digest) = (found.torn.len() as u64, Digest::of(&found.torn).to_string());
            tracing::warn!(bytes, "the last line of the audit journal was incomplete and is taken off");
            left.length -= bytes;
            left.file.set_len(left.length)?;
            self.notes.push(Upkeep::Repaired { bytes, digest });
        }
        if left.length == 0
            && let Some((_, last)) = self.folder.closed()?.last()
        {
            found = end(&mut File::open(last)?)?;
        }
        let noted = self.folder.noted();
        left.head = match (found.head, found.wrong, noted) {
            (None, Some(claimed), Some(noted)) => damaged(noted, claimed, &mut self.notes),
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
                if found.seq > noted.seq || found == noted { found } else { damaged(noted, found.seq, &mut self.notes) }
            }
        };
        Ok(left)
    }
}

/// The chain goes on after what was noted, so that what is missing stays missing.
fn damaged(noted: Head, found: u64, notes: &mut Vec<Upkeep>) -> Head {
    tracing::error!(
        noted = noted.seq,
        found,
        "the audit journal does not end where it was left: somebody has changed or cut it; see `portcullis audit verify`"
    );
    notes.push(Upkeep::Damaged { noted: noted.seq, found });
    noted
}

/// How a file ends. Reads no more than it must.
fn end(file: &mut File) -> io::Result<End> {
    let length = file.metadata()?.len();
    let mut size = 64 << 10;
    loop {
        let from = length.saturating_sub(size);
        file.seek(SeekFrom::Start(from))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let torn = bytes.split_off(whole);
        bytes.pop();
        let begin = bytes.iter().rposition(|byte| *byte == b'\n').map(|at| at + 1);
        let last = match begin {
            Some(begin) => bytes.split_off(begin),
            None if from == 0 => bytes,
            // The line begins further up.
            None => {
                size *= 4;
                continue;
            }
        };
        if whole == 0 {
            return Ok(End { head: None, wrong: None, torn });
        }
        let text = String::from_utf8(last).ok();
        let head = text.as_deref().and_then(line::read).map(|sound| sound.head);
        let wrong = head.is_none().then(|| text.as_deref().and_then(line::claimed).unwrap_or(0));
        return Ok(End { head, wrong, torn });
    }
}
