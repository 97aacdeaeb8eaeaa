//! Checking a journal: every line as it was written, in its place, none missing.

use super::files::Folder;
use super::line::{self, Head, Sound};
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

/// A journal that is whole.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// Where it ends: to be noted elsewhere.
    pub head: Head,
    /// Number of its first line that is still kept.
    pub first: u64,
    /// Files it is in.
    pub files: usize,
    /// Bytes after the last line, as a crash leaves them; the next record takes them off.
    pub torn: u64,
}

/// The first thing that is wrong.
#[derive(Debug, thiserror::Error)]
#[error("{}:{line}: {wrong}", file.display())]
pub struct Fault {
    /// The file.
    pub file: PathBuf,
    /// The line in it, counted from 1.
    pub line: u64,
    /// What.
    pub wrong: Wrong,
}

/// What can be wrong with a line.
#[derive(Debug, PartialEq, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's sentence says what its fields are")]
pub enum Wrong {
    #[error("changed: the line is not what was written")]
    Changed,
    #[error("changed: the line after it names another hash")]
    Rehashed,
    #[error("missing: the records {from} to {to} should stand before this line")]
    Missing { from: u64, to: u64 },
    #[error("reordered: record {found} stands where {expected} should")]
    Reordered { expected: u64, found: u64 },
    #[error("cut off: the journal ends with record {last}, and {noted} was noted")]
    CutOff { last: u64, noted: u64 },
    #[error("changed: record {seq} is not the one that was noted; it was written anew, or another journal was")]
    NotNoted { seq: u64 },
    #[error("unreadable: {0}")]
    Unreadable(String),
}

/// Checks the journal of a folder, and that it holds `noted`, a head that was noted elsewhere. Blocks.
pub fn verify(folder: &Path, noted: Option<Head>) -> Result<Report, Fault> {
    let fault = |error: io::Error| Fault {
        file: folder.to_owned(),
        line: 0,
        wrong: Wrong::Unreadable(format!("{error}; is there a journal?")),
    };
    let place = Folder::at(folder);
    let (files, ours) = {
        let _locked = place.lock_shared();
        let mut files = Vec::new();
        for path in place.all().map_err(fault)? {
            let file = File::open(&path).map_err(fault)?;
            let length = file.metadata().map_err(fault)?.len();
            files.push((path, file.take(length)));
        }
        (files, place.noted())
    };
    let mut check = Check { place: (place.current(), 0), last: None, first: 1, removed: 0, must: Vec::new() };
    check.must.extend(ours.into_iter().chain(noted));
    let (number, mut torn) = (files.len(), 0);
    for (path, file) in files {
        torn = check.file(path, BufReader::new(file))?;
    }
    let first = check.end()?;
    Ok(Report { head: check.last.unwrap_or(Head::START), first, files: number, torn })
}

struct Check {
    /// File and line of the last line.
    place: (PathBuf, u64),
    last: Option<Head>,
    first: u64,
    /// Records up to this one were removed, as a record says.
    removed: u64,
    /// Heads that must be found.
    must: Vec<Head>,
}

impl Check {
    fn file(&mut self, path: PathBuf, mut lines: impl io::BufRead) -> Result<u64, Fault> {
        let (mut number, mut text) = (0, Vec::new());
        loop {
            text.clear();
            number += 1;
            let fault = |wrong| Fault { file: path.clone(), line: number, wrong };
            lines.read_until(b'\n', &mut text).map_err(|error| fault(Wrong::Unreadable(error.to_string())))?;
            if text.is_empty() {
                return Ok(0);
            }
            if text.pop_if(|byte| *byte == b'\n').is_none() {
                return Ok(text.len() as u64);
            }
            let sound = std::str::from_utf8(&text).ok().and_then(line::read).ok_or_else(|| fault(Wrong::Changed))?;
            let begins = self.follows(&sound, &mut lines).map_err(|wrong| match (wrong, &self.place) {
                // It is the line before that is not what it was.
                (Wrong::Rehashed, (file, line)) => Fault { file: file.clone(), line: *line, wrong: Wrong::Rehashed },
                (wrong, _) => fault(wrong),
            })?;
            if begins {
                self.first = sound.head.seq;
            }
            if self.must.iter().any(|must| must.seq == sound.head.seq && must.hash != sound.head.hash) {
                return Err(fault(Wrong::NotNoted { seq: sound.head.seq }));
            }
            let of_journal = sound.fields.get("event").is_some_and(|event| event == "journal");
            if of_journal && sound.fields.get("what").is_some_and(|what| what == "removed") {
                let through = sound.fields.get("through").and_then(serde_json::Value::as_u64);
                self.removed = self.removed.max(through.unwrap_or(0));
            }
            self.last = Some(sound.head);
            self.place = (path.clone(), number);
        }
    }

    /// Whether the line is the first of all; an error when it does not follow the one before it.
    fn follows(&self, sound: &Sound, rest: &mut impl io::BufRead) -> Result<bool, Wrong> {
        let Some(last) = self.last else { return Ok(true) };
        let (expected, found) = (last.seq + 1, sound.head.seq);
        if found == expected {
            return if sound.prev == last.hash { Ok(false) } else { Err(Wrong::Rehashed) };
        }
        let later = |line: io::Result<String>| line.is_ok_and(|line| line::claimed(&line) == Some(expected));
        if found < expected || rest.lines().any(later) {
            return Err(Wrong::Reordered { expected, found });
        }
        Err(Wrong::Missing { from: expected, to: found - 1 })
    }

    /// What can be said only at the end.
    fn end(&self) -> Result<u64, Fault> {
        let (file, line) = self.place.clone();
        if self.last.is_some() && self.first > self.removed + 1 {
            let (from, to) = (self.removed + 1, self.first - 1);
            return Err(Fault { file, line, wrong: Wrong::Missing { from, to } });
        }
        let last = self.last.map_or(0, |head| head.seq);
        match self.must.iter().map(|must| must.seq).max() {
            Some(noted) if noted > last => Err(Fault { file, line, wrong: Wrong::CutOff { last, noted } }),
            _ => Ok(self.first),
        }
    }
}
