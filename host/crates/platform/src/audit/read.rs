//! Reading records back, to be shown.

use super::files::Folder;
use super::line;
use serde_json::{Map, Value};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

/// A record as it was kept.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The line, without its line feed.
    pub line: String,
    /// Its fields, in order.
    pub fields: Map<String, Value>,
}

/// Which records are wanted.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Of this plugin, by name or by table.
    pub plugin: Option<String>,
    /// On behalf of this principal.
    pub principal: Option<String>,
    /// Not older, since 1970.
    pub since: Option<Duration>,
    /// Older, likewise.
    pub until: Option<Duration>,
}

impl Entry {
    fn read(line: &[u8]) -> Self {
        let line = String::from_utf8_lossy(line).into_owned();
        // Verifying is another command: what was changed is shown all the same.
        let fields = serde_json::from_str(&line).unwrap_or_default();
        Self { line, fields }
    }

    /// A field, as text; empty when it is not there.
    pub fn text(&self, name: &str) -> String {
        match self.fields.get(name) {
            None => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(value) => value.to_string(),
        }
    }

    /// Whether it is what was written.
    pub fn is_sound(&self) -> bool {
        line::read(&self.line).is_some()
    }
}

impl Filter {
    /// Whether a record is wanted.
    pub fn admits(&self, entry: &Entry) -> bool {
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

/// Follows a journal that grows.
pub struct Follower {
    folder: Folder,
    /// The file that is being read, and how far.
    at: Option<(u64, u64)>,
}

/// The last records that a filter admits, oldest first, and whoever follows from there. Blocks.
pub fn last(folder: &Path, number: usize, filter: &Filter) -> io::Result<(Vec<Entry>, Follower)> {
    let folder = Folder::at(folder);
    let files = {
        let _locked = folder.lock_shared();
        folder.all()?.into_iter().map(|path| File::open(&path)).collect::<io::Result<Vec<_>>>()?
    };
    let mut at = None;
    let mut found = VecDeque::new();
    for mut file in files.into_iter().rev() {
        let (inode, room) = (file.metadata()?.ino(), number - found.len());
        let mut own = VecDeque::new();
        let length = whole_lines(&mut file, 0, |entry| {
            if filter.admits(&entry) {
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
    Ok((found.into(), Follower { folder, at }))
}

impl Follower {
    /// What has come since the last time. Blocks.
    pub fn more(&mut self) -> io::Result<Vec<Entry>> {
        let files = {
            let _locked = self.folder.lock_shared();
            self.folder.all()?.into_iter().map(|path| File::open(&path)).collect::<io::Result<Vec<_>>>()?
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
            let to = whole_lines(&mut file, from, |entry| {
                more.push(entry);
                Ok(())
            })?;
            at = Some((inode, to));
        }
        // The file that was being read may have been removed since: everything there is comes after it.
        if !known {
            self.at = None;
            return self.more();
        }
        self.at = at;
        Ok(more)
    }
}

/// Every record that a filter admits, oldest first. Blocks.
pub fn each(folder: &Path, filter: &Filter, mut take: impl FnMut(Entry) -> io::Result<()>) -> io::Result<()> {
    let folder = Folder::at(folder);
    let files = {
        let _locked = folder.lock_shared();
        folder.all()?.into_iter().map(|path| File::open(&path)).collect::<io::Result<Vec<_>>>()?
    };
    for mut file in files {
        whole_lines(&mut file, 0, |entry| if filter.admits(&entry) { take(entry) } else { Ok(()) })?;
    }
    Ok(())
}

/// Takes the whole lines from here on; says where they end.
fn whole_lines(file: &mut File, from: u64, mut take: impl FnMut(Entry) -> io::Result<()>) -> io::Result<u64> {
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
        take(Entry::read(&line))?;
    }
}
