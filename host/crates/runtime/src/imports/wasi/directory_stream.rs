//! A directory that is read piece by piece. The standard implementation reads all of it at once, so a guest with many streams
//! could hold any amount of the host's memory.

use super::blocking::blocking;
use rustix::fs::{AtFlags, Dir, DirEntry, FileType, statat};
use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::sync::Arc;
use wasmtime_wasi::p2::bindings::filesystem::types::{DescriptorType, DirectoryEntry, ErrorCode};

/// Entries that are read ahead.
const PIECE: usize = 128;

type RecordedEntry = Result<DirectoryEntry, ErrorCode>;

/// A directory that is being read.
pub(super) struct DirectoryStream {
    ahead: VecDeque<RecordedEntry>,
    /// What is still to be read, if anything.
    rest: Option<Rest>,
    before: Option<Before>,
}

/// A directory that an earlier run has opened, and this one has not.
struct Before {
    directory: Arc<File>,
    /// Entries that the guest has got.
    passed: u64,
    /// What the call lacks, if the directory is no longer there.
    gone: Option<&'static str>,
}

struct Rest {
    entries: Dir,
    directory: Arc<File>,
}

impl DirectoryStream {
    pub(super) async fn open(directory: Arc<File>) -> Result<Self, ErrorCode> {
        let rest = blocking(move || Ok(Rest { entries: Dir::read_from(&directory)?, directory })).await?;
        Ok(Self { ahead: VecDeque::new(), rest: Some(rest), before: None })
    }

    /// For a replayed call: the directory is opened when an entry is read that is not recorded.
    pub(super) fn opened_before(directory: Arc<File>, gone: Option<&'static str>) -> Self {
        Self { ahead: VecDeque::new(), rest: None, before: Some(Before { directory, passed: 0, gone }) }
    }

    /// Notes that the guest has got one more entry from the journal.
    pub(super) fn passed_before(&mut self) {
        if let Some(before) = &mut self.before {
            before.passed += 1;
        }
    }

    pub(super) fn gone(&self) -> Option<&'static str> {
        self.before.as_ref().and_then(|before| before.gone)
    }

    pub(super) async fn next(&mut self) -> Result<Option<DirectoryEntry>, ErrorCode> {
        if let Some(before) = self.before.take() {
            *self = Self::open(before.directory).await?;
            for _ in 0..before.passed {
                let _ = self.read().await;
            }
        }
        self.read().await
    }

    async fn read(&mut self) -> Result<Option<DirectoryEntry>, ErrorCode> {
        if self.ahead.is_empty()
            && let Some(rest) = self.rest.take()
        {
            (self.ahead, self.rest) = blocking(move || Ok(rest.read())).await?;
        }
        self.ahead.pop_front().transpose()
    }
}

impl Rest {
    /// The next entries, and what is left after them.
    fn read(mut self) -> (VecDeque<RecordedEntry>, Option<Self>) {
        let mut ahead = VecDeque::new();
        while ahead.len() < PIECE {
            match self.entries.read() {
                Some(Ok(entry)) if matches!(entry.file_name().to_bytes(), b"." | b"..") => {}
                Some(Ok(entry)) => ahead.push_back(self.describe(&entry)),
                Some(Err(error)) => ahead.push_back(Err(io::Error::from(error).into())),
                None => return (ahead, None),
            }
        }
        (ahead, Some(self))
    }

    fn describe(&self, entry: &DirEntry) -> RecordedEntry {
        let name = entry.file_name();
        let of_link = || statat(&self.directory, name, AtFlags::SYMLINK_NOFOLLOW);
        let kind = match entry.file_type() {
            FileType::Unknown => of_link().map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode)),
            known => known,
        };
        let name = name.to_str().map_err(|_| ErrorCode::IllegalByteSequence)?.to_owned();
        Ok(DirectoryEntry { type_: descriptor_type(kind), name })
    }
}

fn descriptor_type(kind: FileType) -> DescriptorType {
    match kind {
        FileType::RegularFile => DescriptorType::RegularFile,
        FileType::Directory => DescriptorType::Directory,
        FileType::Symlink => DescriptorType::SymbolicLink,
        FileType::Fifo => DescriptorType::Fifo,
        FileType::Socket => DescriptorType::Socket,
        FileType::CharacterDevice => DescriptorType::CharacterDevice,
        FileType::BlockDevice => DescriptorType::BlockDevice,
        FileType::Unknown => DescriptorType::Unknown,
    }
}
