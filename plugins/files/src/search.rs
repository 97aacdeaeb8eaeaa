//! The tool `search`.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use memchr::{memchr, memchr_iter, memrchr};
use portcullis_guest::filesystem::{explain, folders, resolve};
use portcullis_guest::{Denial, ToolError, log, meter, output};
use regex::bytes::{Regex, RegexBuilder};
use schemars::JsonSchema;
use serde::Serialize;

use crate::walk::Walk;

/// Larger files are rarely text somebody wrote, and must fit into memory.
const LARGEST_FILE: u64 = 8 * 1024 * 1024;

/// How much of a long line is shown, in bytes.
const SHOWN: usize = 300;

/// Matches in one chunk, so that a chunk stays well below the default ceiling of 64 KiB.
const PER_CHUNK: usize = 50;

/// A pattern may not compile into more than this: it bounds memory and fuel spent before the search begins.
const PATTERN_SIZE: usize = 1024 * 1024;

/// What to search for, and where.
pub(crate) struct Query {
    pub(crate) pattern: String,
    pub(crate) path: Option<String>,
    pub(crate) suffix: Option<String>,
    pub(crate) ignore_case: bool,
    pub(crate) max_matches: usize,
}

/// What the search found.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Found {
    /// The matching lines.
    matches: Vec<Match>,
    files_searched: usize,
    /// Binary, too large or unreadable.
    files_skipped: usize,
    /// Why the search ended before the last file, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    stopped: Option<Stopped>,
}

/// Why a search ended early.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Stopped {
    /// There are more matches than `max_matches`.
    Matches,
    /// The call's fuel is nearly used up; search a smaller folder.
    Fuel,
    /// The call's time is nearly used up; search a smaller folder.
    Time,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Match {
    path: String,
    /// Counted from 1.
    line: usize,
    /// The line, cut when it is long.
    text: String,
}

pub(crate) fn search(query: &Query) -> Result<Found, ToolError> {
    let regex = RegexBuilder::new(&query.pattern)
        .case_insensitive(query.ignore_case)
        .multi_line(true)
        .crlf(true)
        .size_limit(PATTERN_SIZE)
        .build()
        .map_err(|error| ToolError::invalid(format_args!("pattern: {error}")))?;

    let mut found = Found { matches: Vec::new(), files_searched: 0, files_skipped: 0, stopped: None };
    let reserve = Reserve::new();
    for (path, size) in Walk::new(start(query.path.as_deref())?) {
        found.stopped = reserve.touched();
        if found.stopped.is_some() {
            break;
        }
        if query.suffix.as_ref().is_some_and(|suffix| !path.to_string_lossy().ends_with(suffix)) {
            continue;
        }
        let Some(text) = load(&path, size) else {
            found.files_skipped += 1;
            continue;
        };
        found.files_searched += 1;
        let room = query.max_matches - found.matches.len();
        let mut matches: Vec<Match> = matches(&regex, &path, &text).take(room + 1).collect();
        let more = matches.len() > room;
        matches.truncate(room);
        for matches in matches.chunks(PER_CHUNK) {
            output::emit(chunk(matches))?;
        }
        found.matches.append(&mut matches);
        if more {
            found.stopped = Some(Stopped::Matches);
            break;
        }
    }
    Ok(found)
}

/// What a search leaves of its budget, so that it ends with a result rather than being stopped without one: a tenth.
struct Reserve {
    fuel: u64,
    time: Duration,
}

impl Reserve {
    fn new() -> Self {
        Self { fuel: meter::fuel_left().unwrap_or(0) / 10, time: meter::deadline_left() / 10 }
    }

    fn touched(&self) -> Option<Stopped> {
        if meter::fuel_left().is_some_and(|left| left < self.fuel) {
            Some(Stopped::Fuel)
        } else {
            (meter::deadline_left() < self.time).then_some(Stopped::Time)
        }
    }
}

fn start(path: Option<&str>) -> Result<Vec<PathBuf>, ToolError> {
    let Some(path) = path else {
        let folders = folders();
        return if folders.is_empty() { Err(Denial::new("filesystem", "/").into()) } else { Ok(folders) };
    };
    let path = resolve(path)?;
    // The walk skips what it cannot look at; what was asked for by name must not vanish silently.
    fs::metadata(&path).map_err(|error| explain(&path, &error))?;
    Ok(vec![path])
}

/// The file's bytes, unless it is not to be searched.
fn load(path: &Path, size: u64) -> Option<Vec<u8>> {
    if size > LARGEST_FILE {
        return None;
    }
    let bytes = fs::read(path).inspect_err(|error| log::debug!("skipped {}: {error}", path.display())).ok()?;
    memchr(0, &bytes).is_none().then_some(bytes)
}

/// Matching lines. Searching the whole text at once lets the regex engine skip ahead to candidates.
fn matches(regex: &Regex, path: &Path, text: &[u8]) -> impl Iterator<Item = Match> {
    let mut position = 0;
    let mut line = 1;
    std::iter::from_fn(move || {
        if position > text.len() {
            return None;
        }
        let at = regex.find_at(text, position)?.start();
        let start = memrchr(b'\n', &text[..at]).map_or(0, |newline| newline + 1);
        let end = memchr(b'\n', &text[at..]).map_or(text.len(), |length| at + length);
        // A match at the very end, after the last newline, is in no line.
        if start == text.len() && !text.is_empty() {
            return None;
        }
        line += memchr_iter(b'\n', &text[position.min(start)..start]).count();
        let found = Match { path: path.display().to_string(), line, text: shown(&text[start..end]) };
        position = end + 1;
        line += 1;
        Some(found)
    })
}

fn shown(line: &[u8]) -> String {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.len() <= SHOWN {
        return String::from_utf8_lossy(line).into_owned();
    }
    // A character cut in two is dropped rather than shown as a replacement character.
    let cut = &line[..SHOWN];
    let cut = std::str::from_utf8(cut).map_or_else(|error| &cut[..error.valid_up_to().max(SHOWN - 3)], str::as_bytes);
    format!("{} ...", String::from_utf8_lossy(cut))
}

fn chunk(matches: &[Match]) -> String {
    let mut chunk = String::new();
    for Match { path, line, text } in matches {
        // Writing to a string cannot fail.
        let _ = writeln!(chunk, "{path}:{line}: {text}");
    }
    chunk
}
