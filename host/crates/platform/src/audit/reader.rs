//! Reads records in order to show them.

use super::folder::AuditFolder;
use super::line;
use serde_json::{Map, Value};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

#[derive(Debug, Clone, PartialEq)]
pub struct AuditLogEntry {
    /// Without the line feed.
    pub line: String,
    pub fields: Map<String, Value>,
}

/// Selects records.
#[derive(Debug, Clone, Default)]
pub struct EntryFilter {
    /// The plugin's name or configuration table.
    pub plugin: Option<String>,
    pub principal: Option<String>,
    pub since: Option<Duration>,
    pub until: Option<Duration>,
}

impl AuditLogEntry {
    fn read(line: &[u8]) -> Self {
        let line = String::from_utf8_lossy(line).into_owned();
        // Changed lines are shown too: verifying is the job of another command.
        let fields = serde_json::from_str(&line).unwrap_or_default();
        Self { line, fields }
    }

    /// A field as text; empty if it is missing.
    pub fn text(&self, name: &str) -> String {
        match self.fields.get(name) {
            None => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(value) => value.to_string(),
        }
    }

    /// Whether the line's hash is right.
    pub fn is_valid(&self) -> bool {
        line::decode(&self.line).is_some()
    }
}

impl EntryFilter {
    /// Whether the filter selects this record.
    pub fn matches(&self, entry: &AuditLogEntry) -> bool {
        let plugin = entry.text("plugin");
        let named =
            |wanted: &String| plugin == *wanted || plugin.split_once('.').is_some_and(|(_, name)| name == wanted);
        let time = || {
            let time = humantime::parse_rfc3339(&entry.text("time")).ok();
            time.and_then(|time| time.duration_since(UNIX_EPOCH).ok()).unwrap_or_default()
        };
        self.plugin.as_ref().is_none_or(named)
            && self.principal.as_ref().is_none_or(|wanted| entry.text("principal") == *wanted)
            && self.since.is_none_or(|since| time() >= since)
            && self.until.is_none_or(|until| time() < until)
    }
}

/// Follows a log that grows.
pub struct AuditLogFollower {
    folder: AuditFolder,
    /// Inode of the file that is being read, and the offset in it.
    at: Option<(u64, u64)>,
}

/// The last records that a filter selects, oldest first, and a follower that continues from there. Blocks.
pub fn last_entries(
    folder: &Path,
    number: usize,
    filter: &EntryFilter,
) -> io::Result<(Vec<AuditLogEntry>, AuditLogFollower)> {
    let folder = AuditFolder::new(folder);
    let files = {
        let _locked = folder.lock_shared();
        folder.all()?.into_iter().map(|path| File::open(&path)).collect::<io::Result<Vec<_>>>()?
    };
    let mut at = None;
    let mut found = VecDeque::new();
    for mut file in files.into_iter().rev() {
        let (inode, room) = (file.metadata()?.ino(), number - found.len());
        let mut own = VecDeque::new();
        let length = complete_lines(&mut file, 0, |entry| {
            if filter.matches(&entry) {
                own.push_back(entry);
                own.drain(..own.len().saturating_sub(room));
            }
            Ok(())
        })?;
        at.get_or_insert((inode, length));
        own.append(&mut found);
        found = own;
        if found.len() == number {
            break;
        }
    }
    Ok((found.into(), AuditLogFollower { folder, at }))
}

impl AuditLogFollower {
    /// The records since the last call. Blocks.
    pub fn read_new(&mut self) -> io::Result<Vec<AuditLogEntry>> {
        let files = {
            let _locked = self.folder.lock_shared();
            self.folder.chain()?.into_iter().map(|path| File::open(&path)).collect::<io::Result<Vec<_>>>()?
        };
        let (mut more, mut known) = (Vec::new(), self.at.is_none());
        let mut at = self.at;
        for mut file in files {
            let inode = file.metadata()?.ino();
            let from = match self.at {
                Some((reading, from)) if reading == inode => {
                    known = true;
                    from
                }
                _ if known => 0,
                _ => continue,
            };
            let to = complete_lines(&mut file, from, |entry| {
                more.push(entry);
                Ok(())
            })?;
            at = Some((inode, to));
        }
        // The file that was being read is gone, so all remaining files are newer than it.
        if !known {
            self.at = None;
            return self.read_new();
        }
        self.at = at;
        Ok(more)
    }
}

/// Passes every record that a filter selects to `take`, oldest first. Blocks.
pub fn for_each_entry(
    folder: &Path,
    filter: &EntryFilter,
    mut take: impl FnMut(AuditLogEntry) -> io::Result<()>,
) -> io::Result<()> {
    let folder = AuditFolder::new(folder);
    let files = {
        let _locked = folder.lock_shared();
        folder.all()?.into_iter().map(|path| File::open(&path)).collect::<io::Result<Vec<_>>>()?
    };
    for mut file in files {
        complete_lines(&mut file, 0, |entry| if filter.matches(&entry) { take(entry) } else { Ok(()) })?;
    }
    Ok(())
}

/// Passes the complete lines after this offset to `take`. Returns the offset of their end.
fn complete_lines(
    file: &mut File,
    from: u64,
    mut take: impl FnMut(AuditLogEntry) -> io::Result<()>,
) -> io::Result<u64> {
    file.seek(SeekFrom::Start(from))?;
    let mut to = from;
    let mut reader = BufReader::new(file.by_ref());
    let mut line = Vec::new();
    loop {
        line.clear();
        to += reader.read_until(b'\n', &mut line)? as u64;
        if line.pop_if(|byte| *byte == b'\n').is_none() {
            return Ok(to - line.len() as u64);
        }
        take(AuditLogEntry::read(&line))?;
    }
}
