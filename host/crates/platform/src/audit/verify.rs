//! Verifies a log: every line is unchanged and in order, and none is missing.

use super::folder::AuditFolder;
use super::hash::Hash;
use super::line::{self, Head, ValidLine};
use super::removal::Removal;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _};
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, PartialEq)]
pub struct VerifyReport {
    /// The end of the chain, which the operator can note elsewhere.
    pub head: Head,
    /// Sequence number of the first line that is still there.
    pub first: u64,
    pub files: usize,
    /// Records in the archive, which keeps some records of removed files.
    pub archived: u64,
    /// Bytes of an incomplete last line, as after a crash. The next write removes them.
    pub torn: u64,
}

/// The first problem in a log.
#[derive(Debug, thiserror::Error)]
#[error("{}:{line}: {wrong}", file.display())]
pub struct VerifyError {
    pub file: PathBuf,
    /// The line in the file, counted from 1.
    pub line: u64,
    pub wrong: VerifyProblem,
}

/// What can be wrong with a line.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum VerifyProblem {
    #[error("changed: the line is not what was written")]
    Changed,
    #[error("changed: the line after it names another hash")]
    Rehashed,
    #[error("missing: the records {from} to {to} should stand before this line")]
    Missing { from: u64, to: u64 },
    #[error("reordered: record {found} stands where {expected} should")]
    Reordered { expected: u64, found: u64 },
    #[error("cut off: the log ends with record {last}, and {noted} was noted")]
    CutOff { last: u64, noted: u64 },
    #[error("changed: record {seq} is not the one that was noted; it was written anew, or another log was")]
    NotNoted { seq: u64 },
    #[error("changed: the archive is not the one that the log names; records were removed from it or added")]
    NotTheArchive,
    #[error("unreadable: {0}")]
    Unreadable(String),
}

/// Verifies the log of a folder, and that it contains `noted`, a head that was noted elsewhere. Blocks.
pub fn verify(folder: &Path, noted: Option<Head>) -> Result<VerifyReport, VerifyError> {
    let fault = |error: io::Error| VerifyError {
        file: folder.to_owned(),
        line: 0,
        wrong: VerifyProblem::Unreadable(format!("{error}; is there a log?")),
    };
    let log = AuditFolder::new(folder);
    let (files, archives, ours) = {
        let _locked = log.lock_shared();
        let mut files = Vec::new();
        for path in log.chain().map_err(fault)? {
            let file = File::open(&path).map_err(fault)?;
            let length = file.metadata().map_err(fault)?.len();
            files.push((path, file.take(length)));
        }
        let archives = [log.archive(), log.new_archive()].map(|path| File::open(path).ok());
        (files, archives, log.noted())
    };
    let must = ours.into_iter().chain(noted).collect();
    let mut verifier = Verifier { must, ..Verifier::new(log.current()) };
    let (number, mut torn) = (files.len(), 0);
    for (path, file) in files {
        torn = verifier.file(path, BufReader::new(file))?;
    }
    let first = verifier.end()?;
    let archived = verifier.archive(log.archive(), archives)?;
    Ok(VerifyReport { head: verifier.last.unwrap_or(Head::START), first, files: number, archived, torn })
}

struct Verifier {
    /// File and line of the last line.
    position: (PathBuf, u64),
    last: Option<Head>,
    first: u64,
    /// The number up to which records were removed, according to a record of a removal.
    removed: u64,
    /// The hash of the archive, according to the last record that contains one.
    archive: Option<Hash>,
    /// Whether records may be missing between two others, as in the archive.
    gaps: bool,
    /// Heads that must be in the chain.
    must: Vec<Head>,
}

impl Verifier {
    fn new(path: &Path) -> Self {
        let position = (path.to_owned(), 0);
        Self { position, last: None, first: 1, removed: 0, archive: None, gaps: false, must: Vec::new() }
    }

    /// Verifies the archive, and returns how many records it has. After a crash, it may still be in the file in which it was
    /// written.
    fn archive(&self, path: &Path, mut found: [Option<File>; 2]) -> Result<u64, VerifyError> {
        let unreadable = |error: io::Error| VerifyError {
            file: path.to_owned(),
            line: 0,
            wrong: VerifyProblem::Unreadable(error.to_string()),
        };
        let mut named = None;
        for file in found.iter_mut().flatten() {
            if Some(Hash::read(file).map_err(unreadable)?) == self.archive {
                named = Some(file.try_clone().map_err(unreadable)?);
            }
        }
        let is_named = named.is_some();
        let [kept, _] = found;
        let mut records = Self { gaps: true, must: self.must.clone(), ..Self::new(path) };
        // If the archive is another one, its first changed record is reported as well.
        if let Some(mut file) = named.or(kept) {
            file.rewind().map_err(unreadable)?;
            records.file(path.to_owned(), BufReader::new(file))?;
        } else if self.archive.is_none() {
            return Ok(0);
        }
        let (file, line) = records.position;
        if is_named { Ok(line) } else { Err(VerifyError { file, line, wrong: VerifyProblem::NotTheArchive }) }
    }

    fn file(&mut self, path: PathBuf, mut lines: impl io::BufRead) -> Result<u64, VerifyError> {
        let (mut number, mut text) = (0, Vec::new());
        loop {
            text.clear();
            number += 1;
            let fault = |wrong| VerifyError { file: path.clone(), line: number, wrong };
            lines.read_until(b'\n', &mut text).map_err(|error| fault(VerifyProblem::Unreadable(error.to_string())))?;
            if text.is_empty() {
                return Ok(0);
            }
            if text.pop_if(|byte| *byte == b'\n').is_none() {
                return Ok(text.len() as u64);
            }
            let sound =
                std::str::from_utf8(&text).ok().and_then(line::decode).ok_or_else(|| fault(VerifyProblem::Changed))?;
            let begins = self.follows(&sound, &mut lines).map_err(|wrong| match (wrong, &self.position) {
                // The changed line is the one before this.
                (VerifyProblem::Rehashed, (file, line)) => {
                    VerifyError { file: file.clone(), line: *line, wrong: VerifyProblem::Rehashed }
                }
                (wrong, _) => fault(wrong),
            })?;
            if begins {
                self.first = sound.head.seq;
            }
            if self.must.iter().any(|must| must.seq == sound.head.seq && must.hash != sound.head.hash) {
                return Err(fault(VerifyProblem::NotNoted { seq: sound.head.seq }));
            }
            if let Some(Removal { through, archive }) = Removal::read(&sound.fields) {
                self.removed = self.removed.max(through);
                self.archive = archive.or(self.archive);
            }
            self.last = Some(sound.head);
            self.position = (path.clone(), number);
        }
    }

    /// Whether the line is the first one. Fails if it does not follow the line before it.
    fn follows(&self, sound: &ValidLine, rest: &mut impl io::BufRead) -> Result<bool, VerifyProblem> {
        let Some(last) = self.last else { return Ok(true) };
        let (expected, found) = (last.seq + 1, sound.head.seq);
        if found == expected {
            return if sound.prev == last.hash { Ok(false) } else { Err(VerifyProblem::Rehashed) };
        }
        let later = |line: io::Result<String>| line.is_ok_and(|line| line::claimed_seq(&line) == Some(expected));
        if found > expected && self.gaps {
            return Ok(false);
        }
        if found < expected || rest.lines().any(later) {
            return Err(VerifyProblem::Reordered { expected, found });
        }
        Err(VerifyProblem::Missing { from: expected, to: found - 1 })
    }

    /// Checks what can be checked only at the end.
    fn end(&self) -> Result<u64, VerifyError> {
        let (file, line) = self.position.clone();
        if self.last.is_some() && self.first > self.removed + 1 {
            let (from, to) = (self.removed + 1, self.first - 1);
            return Err(VerifyError { file, line, wrong: VerifyProblem::Missing { from, to } });
        }
        let last = self.last.map_or(0, |head| head.seq);
        match self.must.iter().map(|must| must.seq).max() {
            Some(noted) if noted > last => {
                Err(VerifyError { file, line, wrong: VerifyProblem::CutOff { last, noted } })
            }
            _ => Ok(self.first),
        }
    }
}
