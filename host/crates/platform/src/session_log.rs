//! What a process writes down about a client's connection for the process that replaces it if it is killed. The log is in
//! memory, in a file without a name that the supervisor of both processes keeps open.
//!
//! Entries are appended. From time to time all of them are replaced by those that are still needed. These are appended first,
//! and then one number in the header is changed that says where the entries begin. So a process that is killed leaves either
//! all old entries or all new ones.

use crate::sync::Mutex;
use rustix::io::pwritev;
use rustix::process::{Resource, getrlimit};
use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice};
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

/// Offsets in the header: where the entries begin, how many processes have had the connection, and the flags of the current
/// one.
const BEGIN_AT: u64 = 0;
const TAKEN_AT: u64 = 8;
const FLAGS_AT: u64 = 12;
const FLAGS: usize = 3;
/// Offset of the first entry. It is beyond the page of the header on any system, so that whole pages before the entries can be
/// freed.
const ENTRIES: u64 = 64 << 10;
/// Bytes of an entry's kind and length.
const ENTRY_HEADER: usize = 5;

/// While the entries have fewer bytes than this, they are not replaced.
const SHORT: u64 = 256 << 10;

/// A flag of the header. Each flag is a byte of its own, because two processes set them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum SessionFlag {
    /// The process serves the client.
    Serving,
    /// The client has ended the connection.
    ClientGone,
    /// No process will follow this one.
    Last,
}

/// One entry. The transport defines what its kind means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionEntry {
    pub kind: u8,
    pub bytes: Vec<u8>,
}

#[derive(Debug)]
pub struct SessionLog {
    file: File,
    written: Mutex<Written>,
}

#[derive(Debug)]
struct Written {
    begin: u64,
    end: u64,
    /// Bytes of the entries after the last time that they were replaced.
    kept: u64,
}

impl SessionLog {
    /// Creates a log without entries. Fails if the system does not let another process of the user open it, or if the size of
    /// files is limited: the log becomes longer with each message, although it takes little memory, and the system kills a
    /// process that writes beyond the limit.
    pub fn create() -> io::Result<Self> {
        if getrlimit(Resource::Fsize).current.is_some() {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "files have a limit"));
        }
        let file = unnamed_file()?;
        file.set_len(ENTRIES)?;
        file.write_all_at(&ENTRIES.to_le_bytes(), BEGIN_AT)?;
        let log = Self { file, written: Mutex::new(Written::new(ENTRIES, ENTRIES)) };
        Self::open(std::process::id(), log.descriptor())?;
        Ok(log)
    }

    /// The descriptor with which another process of the user can open the log, as long as this process keeps it open.
    pub fn descriptor(&self) -> i32 {
        self.file.as_raw_fd()
    }

    /// Opens the log of the process that has started this one. The descriptor is the one that it has there.
    pub fn open_of_parent(descriptor: i32) -> io::Result<Self> {
        Self::open(std::os::unix::process::parent_id(), descriptor)
    }

    fn open(process: u32, descriptor: i32) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open(format!("/proc/{process}/fd/{descriptor}"))?;
        let mut begin = [0; 8];
        file.read_exact_at(&mut begin, BEGIN_AT)?;
        let (begin, end) = (u64::from_le_bytes(begin), file.metadata()?.len());
        if begin < ENTRIES || begin > end {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it is no log of a session"));
        }
        Ok(Self { file, written: Mutex::new(Written::new(begin, end)) })
    }

    /// How many processes have had the connection before this one.
    pub fn earlier_processes(&self) -> io::Result<u32> {
        let mut count = [0; 4];
        self.file.read_exact_at(&mut count, TAKEN_AT)?;
        Ok(u32::from_le_bytes(count))
    }

    /// Whether this process serves the client or an earlier one has served it.
    pub fn has_been_served(&self) -> bool {
        self.has(SessionFlag::Serving) || self.earlier_processes().is_ok_and(|earlier| earlier > 0)
    }

    /// Counts one more process that has had the connection, and clears its flags.
    pub fn begin_next_process(&self) -> io::Result<()> {
        self.file.write_all_at(&self.earlier_processes()?.saturating_add(1).to_le_bytes(), TAKEN_AT)?;
        self.file.write_all_at(&[0; FLAGS], FLAGS_AT)
    }

    /// Whether the flag is set for the current process.
    pub fn has(&self, flag: SessionFlag) -> bool {
        let mut set = [0];
        self.file.read_exact_at(&mut set, FLAGS_AT + flag as u64).is_ok() && set != [0]
    }

    pub fn set(&self, flag: SessionFlag) -> io::Result<()> {
        self.file.write_all_at(&[1], FLAGS_AT + flag as u64)
    }

    /// Appends an entry. Returns whether the entries should now be replaced by those that are still needed, because they have
    /// become twice as long.
    pub fn append(&self, kind: u8, bytes: &[u8]) -> io::Result<bool> {
        let mut written = self.written.lock();
        self.write(&mut written, kind, bytes)?;
        Ok(written.end - written.begin > (2 * written.kept).max(SHORT))
    }

    fn write(&self, written: &mut Written, kind: u8, bytes: &[u8]) -> io::Result<()> {
        let header = header(kind, bytes);
        let done = pwritev(&self.file, &[IoSlice::new(&header), IoSlice::new(bytes)], written.end)?;
        // A very large entry may be written only in part.
        let rest = done.checked_sub(ENTRY_HEADER).and_then(|done| bytes.get(done..)).ok_or(io::ErrorKind::WriteZero)?;
        self.file.write_all_at(rest, written.end + done as u64)?;
        written.end += (ENTRY_HEADER + bytes.len()) as u64;
        Ok(())
    }

    /// All entries. The last one may be cut if its writer was killed. So a process that takes over must replace the entries
    /// before it appends any.
    pub fn entries(&self) -> io::Result<Vec<SessionEntry>> {
        self.read(&self.written.lock())
    }

    fn read(&self, written: &Written) -> io::Result<Vec<SessionEntry>> {
        let mut text = vec![0; usize::try_from(written.end - written.begin).map_err(io::Error::other)?];
        self.file.read_exact_at(&mut text, written.begin)?;
        let (mut rest, mut entries) = (text.as_slice(), Vec::new());
        while let Some(([kind, length @ ..], after)) = rest.split_first_chunk::<ENTRY_HEADER>() {
            let length = usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX).min(after.len());
            let (bytes, others) = after.split_at(length);
            entries.push(SessionEntry { kind: *kind, bytes: bytes.to_vec() });
            rest = others;
        }
        Ok(entries)
    }

    /// Replaces all entries by those that the closure returns.
    pub fn replace(&self, with: impl FnOnce(Vec<SessionEntry>) -> Vec<SessionEntry>) -> io::Result<()> {
        let mut written = self.written.lock();
        let entries = with(self.read(&written)?);
        let new = written.end;
        for entry in entries {
            self.write(&mut written, entry.kind, &entry.bytes)?;
        }
        self.file.write_all_at(&new.to_le_bytes(), BEGIN_AT)?;
        written.begin = new;
        written.kept = written.end - new;
        // Frees the memory of the old entries, and of the rest of a page that could not be freed before.
        free(&self.file, ENTRIES..new)
    }
}

#[cfg(target_os = "linux")]
fn unnamed_file() -> io::Result<File> {
    use rustix::fs::{MemfdFlags, memfd_create};
    Ok(File::from(memfd_create("portcullis-session", MemfdFlags::CLOEXEC)?))
}

#[cfg(not(target_os = "linux"))]
fn unnamed_file() -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(target_os = "linux")]
fn free(file: &File, bytes: Range<u64>) -> io::Result<()> {
    use rustix::fs::{FallocateFlags, fallocate};
    if !bytes.is_empty() {
        fallocate(file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, bytes.start, bytes.end - bytes.start)?;
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn free(_: &File, _: Range<u64>) -> io::Result<()> {
    Ok(())
}

impl Written {
    fn new(begin: u64, end: u64) -> Self {
        Self { begin, end, kept: 0 }
    }
}

fn header(kind: u8, bytes: &[u8]) -> [u8; ENTRY_HEADER] {
    let [a, b, c, d] = u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_le_bytes();
    [kind, a, b, c, d]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    fn entry(kind: u8, text: &str) -> SessionEntry {
        SessionEntry { kind, bytes: text.as_bytes().to_vec() }
    }

    fn opened(log: &SessionLog) -> SessionLog {
        SessionLog::open(std::process::id(), log.descriptor()).unwrap()
    }

    #[test]
    fn the_next_process_reads_what_the_last_one_has_written() {
        let log = SessionLog::create().unwrap();
        assert!(opened(&log).entries().unwrap().is_empty());
        opened(&log).replace(|entries| entries).unwrap();
        let first = opened(&log);
        first.append(b'a', b"one").unwrap();
        first.append(b'b', b"").unwrap();
        first.set(SessionFlag::Serving).unwrap();
        assert!(log.has(SessionFlag::Serving) && !log.has(SessionFlag::ClientGone));
        log.begin_next_process().unwrap();
        let second = opened(&log);
        assert!(!second.has(SessionFlag::Serving) && second.earlier_processes().unwrap() == 1);
        assert_eq!(second.entries().unwrap(), [entry(b'a', "one"), entry(b'b', "")]);
        second.append(b'c', b"two").unwrap();
        assert_eq!(opened(&log).entries().unwrap().len(), 3);
    }

    #[test]
    fn an_entry_that_was_cut_off_has_what_was_written() {
        let log = SessionLog::create().unwrap();
        let writing = opened(&log);
        writing.append(b'a', b"whole").unwrap();
        writing.append(b'b', b"cut off").unwrap();
        let end = log.file.metadata().unwrap().len();
        log.file.set_len(end - 4).unwrap();
        assert_eq!(opened(&log).entries().unwrap(), [entry(b'a', "whole"), entry(b'b', "cut")]);
        log.file.set_len(ENTRIES + 2).unwrap();
        assert!(opened(&log).entries().unwrap().is_empty());
    }

    #[test]
    fn replaced_entries_take_no_memory() {
        let log = SessionLog::create().unwrap();
        let writing = opened(&log);
        for _ in 0..1_000 {
            while !writing.append(b'a', &[b'x'; 16 << 10]).unwrap() {}
            writing.replace(|entries| entries.into_iter().take(1).chain([entry(b'b', "kept")]).collect()).unwrap();
        }
        let entries = opened(&log).entries().unwrap();
        assert_eq!((entries.len(), &entries[1]), (2, &entry(b'b', "kept")));
        let memory = log.file.metadata().unwrap().blocks() * 512;
        assert!(memory < 64 << 10, "{memory} bytes are held");
    }

    #[test]
    fn what_is_no_log_is_refused() {
        let file = tempfile::tempfile().unwrap();
        assert!(SessionLog::open(std::process::id(), file.as_raw_fd()).is_err());
        file.set_len(100).unwrap();
        let error = SessionLog::open(std::process::id(), file.as_raw_fd()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }
}
