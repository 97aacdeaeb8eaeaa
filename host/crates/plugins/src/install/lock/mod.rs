//! The lock file beside the configuration, `portcullis.lock`: what was installed, from where, vouched for by whom, with
//! which grants.
//!
//! It is the operator's file, as the configuration is: grants and limits may be edited by hand and are checked as they are
//! there. Which bytes are loaded is not decided by what it says alone: the component must have the digest it names, and
//! offer what it offered when it was approved.

mod entry;

pub use entry::{Entry, Version};

use super::disk::{self, Step};
use entry::Texts;
use policy::{PluginId, Side};
use rustix::fs::{FlockOperation, OFlags, flock};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read as _};
use std::ops::{Deref, DerefMut};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use toml_edit::{DocumentMut, Item, Table, value};

/// The format that this host writes.
const FORMAT: i64 = 1;
/// The largest file that is read. Bounds what a damaged one makes the host hold.
const MAX_BYTES: u64 = 4 << 20;
const HEAD: &str = "# Written by `portcullis plugin`: what was installed, and what you agreed to. Grants and limits may be edited here\n\
                    # or with `portcullis grant` and `portcullis revoke`; everything else is checked against the components.\n";

/// A lock file that cannot be used, or could not be written.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {reason}")]
pub struct LockError {
    /// Which.
    pub path: PathBuf,
    /// A sentence that says what to do.
    pub reason: String,
}

/// What a lock file says.
#[derive(Debug, Clone)]
pub struct Lock {
    path: PathBuf,
    plugins: BTreeMap<String, Entry>,
    agent: BTreeMap<String, Entry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Written {
    version: i64,
    #[serde(default)]
    plugins: BTreeMap<String, Entry>,
    #[serde(default)]
    agent: BTreeMap<String, Entry>,
}

/// The lock file that belongs to a configuration file: `x.lock` beside `x.toml`.
pub fn lock_path(config: &Path) -> PathBuf {
    let path = config.with_extension("lock");
    // A configuration that ends so itself must not be overwritten.
    if path == config { config.with_extension("lock.lock") } else { path }
}

impl Lock {
    /// Reads the file; where there is none, nothing is installed.
    pub fn load(path: &Path) -> Result<Self, LockError> {
        let fail = |reason: String| LockError { path: path.to_owned(), reason };
        match read(path).map_err(fail)? {
            Some(text) => Self::parse(&text, path),
            None => Ok(Self { path: path.to_owned(), plugins: BTreeMap::new(), agent: BTreeMap::new() }),
        }
    }

    /// Reads text; `path` is for messages and for saving.
    pub fn parse(text: &str, path: &Path) -> Result<Self, LockError> {
        let fail = |reason: String| LockError { path: path.to_owned(), reason };
        let restore = "restore it, or install the plugins again";
        let written: Written = toml::from_str(text).map_err(|error| fail(format!("{error}\n{restore}")))?;
        if written.version != FORMAT {
            let theirs = written.version;
            return Err(fail(format!(
                "it is of format {theirs}, this host knows {FORMAT}: use the host that wrote it"
            )));
        }
        let document: DocumentMut = text.parse().map_err(|error| fail(format!("{error}\n{restore}")))?;
        let tables = |side: Side, read: BTreeMap<String, Entry>| {
            let with_tables = |(name, mut entry): (String, Entry)| {
                let of = document.get(side.table()).and_then(|side| side.get(&name));
                let part = |key| of.and_then(|of| of.get(key)).and_then(as_table).unwrap_or_default();
                let (grants, previous_grants, limits) = (part("grants"), part("previous-grants"), part("limits"));
                entry.texts = Texts { grants, previous_grants, limits };
                (name, entry)
            };
            read.into_iter().map(with_tables).collect::<BTreeMap<_, _>>()
        };
        Ok(Self {
            path: path.to_owned(),
            plugins: tables(Side::Server, written.plugins),
            agent: tables(Side::Agent, written.agent),
        })
    }

    /// Which file this is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The plugins of a side, by name.
    pub fn side(&self, side: Side) -> &BTreeMap<String, Entry> {
        match side {
            Side::Server => &self.plugins,
            Side::Agent => &self.agent,
        }
    }

    fn side_mut(&mut self, side: Side) -> &mut BTreeMap<String, Entry> {
        match side {
            Side::Server => &mut self.plugins,
            Side::Agent => &mut self.agent,
        }
    }

    /// All plugins.
    pub fn iter(&self) -> impl Iterator<Item = (PluginId, &Entry)> {
        let of = |side| self.side(side).iter().map(move |(name, entry)| (PluginId { side, name: name.clone() }, entry));
        of(Side::Server).chain(of(Side::Agent))
    }

    /// One plugin.
    pub fn get(&self, id: &PluginId) -> Option<&Entry> {
        self.side(id.side).get(&id.name)
    }

    /// One plugin, to be changed.
    pub fn get_mut(&mut self, id: &PluginId) -> Option<&mut Entry> {
        self.side_mut(id.side).get_mut(&id.name)
    }

    /// Adds one, or puts it in the place of another.
    pub fn insert(&mut self, id: &PluginId, entry: Entry) {
        self.side_mut(id.side).insert(id.name.clone(), entry);
    }

    /// Takes one out.
    pub fn remove(&mut self, id: &PluginId) -> Option<Entry> {
        self.side_mut(id.side).remove(&id.name)
    }

    /// A plugin by its name, or by name and side: `files`, `plugins.files`, `agent.notes`.
    pub fn find(&self, name: &str) -> Option<PluginId> {
        self.iter().map(|(id, _)| id).find(|id| id.name == name || id.table() == name)
    }

    /// The grants of a plugin as they are written; none: it is not installed.
    pub fn grants_of(&self, id: &PluginId) -> Option<&Table> {
        self.get(id).map(Entry::grants_table)
    }

    /// Puts other grants in the place of a plugin's; the error is a sentence, and nothing is changed then.
    pub fn set_grants(&mut self, id: &PluginId, grants: Table) -> Result<(), String> {
        let table = id.table();
        let entry = self.get_mut(id).ok_or_else(|| format!("[{table}] is not installed"))?;
        entry.set_grants(grants)
    }

    /// The file's text.
    fn text(&self) -> Result<String, toml_edit::ser::Error> {
        let mut document = DocumentMut::new();
        document.decor_mut().set_prefix(HEAD);
        document.insert("version", value(FORMAT));
        for side in [Side::Server, Side::Agent] {
            let mut table = Table::new();
            table.set_implicit(true);
            for (name, entry) in self.side(side) {
                table.insert(name, Item::Table(entry.table()?));
            }
            if !table.is_empty() {
                document.insert(side.table(), Item::Table(table));
            }
        }
        Ok(document.to_string())
    }
}

/// A lock file that no other process changes meanwhile.
pub struct Held {
    lock: Lock,
    _guard: File,
}

impl Held {
    /// Waits until no other process changes the file, and reads it. Blocks.
    pub fn load(path: &Path) -> Result<Self, LockError> {
        let fail = |reason: String| LockError { path: path.to_owned(), reason };
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        // The folder is locked: the file itself is replaced, and a file beside it would be left behind.
        let open = File::open(folder).and_then(|guard| {
            flock(&guard, FlockOperation::LockExclusive)?;
            Ok(guard)
        });
        let guard = open.map_err(|error| fail(format!("its folder {} cannot be locked: {error}", folder.display())))?;
        Ok(Self { lock: Lock::load(path)?, _guard: guard })
    }

    /// Writes the file, in one step.
    pub fn save(&self) -> Result<(), LockError> {
        let fail = |reason: String| LockError { path: self.path.clone(), reason };
        let text = self.text().map_err(|error| fail(error.to_string()))?;
        // Never a file that could not be read again.
        Lock::parse(&text, &self.path)?;
        disk::replace(&self.path, text.as_bytes(), 0o644, Step::LockWritten, Step::LockNamed)
            .map_err(|error| fail(format!("cannot write it: {error}")))
    }
}

impl Deref for Held {
    type Target = Lock;

    fn deref(&self) -> &Lock {
        &self.lock
    }
}

impl DerefMut for Held {
    fn deref_mut(&mut self) -> &mut Lock {
        &mut self.lock
    }
}

/// With its comments, which belong to the keys.
fn as_table(item: &Item) -> Option<Table> {
    item.as_table().cloned().or_else(|| item.as_inline_table().cloned().map(toml_edit::InlineTable::into_table))
}

/// The file's text, if it is there and nobody else could have written it.
fn read(path: &Path) -> Result<Option<String>, String> {
    let flags = i32::try_from((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits()).unwrap_or_default();
    let file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) if path.is_symlink() => {
            return Err(format!("it is a link ({error}); put the file itself here"));
        }
        Err(error) => return Err(format!("cannot read it: {error}")),
    };
    let metadata = file.metadata().map_err(|error| error.to_string())?;
    if !metadata.is_file() {
        return Err("it is not a regular file".into());
    }
    if metadata.permissions().mode() & 0o002 != 0 {
        return Err("everybody may write to it; look through it, then `chmod o-w` it".into());
    }
    let mut text = String::new();
    file.take(MAX_BYTES + 1).read_to_string(&mut text).map_err(|error| format!("cannot read it: {error}"))?;
    if text.len() as u64 > MAX_BYTES {
        return Err(format!("it is larger than {} MiB", MAX_BYTES >> 20));
    }
    Ok(Some(text))
}

#[cfg(test)]
mod tests;
