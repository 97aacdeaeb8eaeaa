//! The contents of a lock file: parsing, looking up and writing.

use super::installed_plugin::{InstalledPlugin, OriginalTables};
use super::read::{read_text, split};
use platform::folder::Folder;
use policy::{DataKey, PluginId, Side};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use toml_edit::{DocumentMut, Item, Table, value};

/// The format that this host writes.
const FORMAT: i64 = 1;
const HEADER: &str = "# Written by `portcullis plugin`: what was installed, and what you agreed to. Grants and limits may be edited here\n\
                    # or with `portcullis grant` and `portcullis revoke`; everything else is checked against the components.\n";

/// A lock file that cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {reason}")]
pub struct LockfileError {
    pub path: PathBuf,
    /// Says what is wrong and what to do.
    pub reason: String,
}

/// The contents of a lock file.
#[derive(Debug, Clone)]
pub struct Lockfile {
    path: PathBuf,
    plugins: BTreeMap<String, InstalledPlugin>,
    agent: BTreeMap<String, InstalledPlugin>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct LockfileTables {
    version: i64,
    #[serde(default)]
    plugins: BTreeMap<String, InstalledPlugin>,
    #[serde(default)]
    agent: BTreeMap<String, InstalledPlugin>,
}

/// The lock file that belongs to a configuration file: `x.lock` beside `x.toml`.
pub fn lockfile_path(config: &Path) -> PathBuf {
    let path = config.with_extension("lock");
    // The configuration itself may be called `x.lock`; it must not be overwritten.
    if path == config { config.with_extension("lock.lock") } else { path }
}

impl Lockfile {
    /// Reads the file. Without a file, nothing is installed.
    pub fn load(path: &Path) -> Result<Self, LockfileError> {
        let fail = |reason: String| LockfileError { path: path.to_owned(), reason };
        match Folder::open(split(path).map_err(fail)?.0) {
            Ok(folder) => Self::load_from(&folder, path),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Self::empty(path)),
            Err(error) => Err(fail(format!("cannot open its folder: {error}"))),
        }
    }

    /// Like [`Lockfile::load`], from the folder of `path`.
    pub(super) fn load_from(folder: &Folder, path: &Path) -> Result<Self, LockfileError> {
        let fail = |reason: String| LockfileError { path: path.to_owned(), reason };
        let text = split(path).and_then(|(_, name)| read_text(folder, name)).map_err(fail)?;
        text.map_or_else(|| Ok(Self::empty(path)), |text| Self::parse(&text, path))
    }

    fn empty(path: &Path) -> Self {
        Self { path: path.to_owned(), plugins: BTreeMap::new(), agent: BTreeMap::new() }
    }

    /// Parses the text of a lock file. `path` is for messages and for saving.
    pub fn parse(text: &str, path: &Path) -> Result<Self, LockfileError> {
        let fail = |reason: String| LockfileError { path: path.to_owned(), reason };
        let restore = "restore it, or install the plugins again";
        let tables: LockfileTables = toml::from_str(text).map_err(|error| fail(format!("{error}\n{restore}")))?;
        if tables.version != FORMAT {
            let found = tables.version;
            return Err(fail(format!("it is of format {found}, this host knows {FORMAT}: use the host that wrote it")));
        }
        for (side, entries) in [(Side::Server, &tables.plugins), (Side::Agent, &tables.agent)] {
            for (name, data) in entries.iter().filter_map(|(name, entry)| Some((name, entry.data.as_deref()?))) {
                let id = PluginId { side, name: name.as_str().into() };
                DataKey::parse(&id, data).map_err(|message| fail(format!("[{id}] {message}\n{restore}")))?;
            }
        }
        let document: DocumentMut = text.parse().map_err(|error| fail(format!("{error}\n{restore}")))?;
        let with_originals = |side: Side, entries: BTreeMap<String, InstalledPlugin>| {
            let with_original = |(name, mut entry): (String, InstalledPlugin)| {
                let plugin = document.get(side.table()).and_then(|side| side.get(&name));
                let table = |key| plugin.and_then(|plugin| plugin.get(key)).and_then(to_table).unwrap_or_default();
                entry.original = OriginalTables {
                    grants: table("grants"),
                    previous_grants: table("previous-grants"),
                    limits: table("limits"),
                };
                (name, entry)
            };
            entries.into_iter().map(with_original).collect::<BTreeMap<_, _>>()
        };
        Ok(Self {
            path: path.to_owned(),
            plugins: with_originals(Side::Server, tables.plugins),
            agent: with_originals(Side::Agent, tables.agent),
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn side(&self, side: Side) -> &BTreeMap<String, InstalledPlugin> {
        match side {
            Side::Server => &self.plugins,
            Side::Agent => &self.agent,
        }
    }

    fn side_mut(&mut self, side: Side) -> &mut BTreeMap<String, InstalledPlugin> {
        match side {
            Side::Server => &mut self.plugins,
            Side::Agent => &mut self.agent,
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = (PluginId, &InstalledPlugin)> {
        let entries = |side| {
            self.side(side).iter().map(move |(name, entry)| (PluginId { side, name: name.as_str().into() }, entry))
        };
        entries(Side::Server).chain(entries(Side::Agent))
    }

    pub fn get(&self, id: &PluginId) -> Option<&InstalledPlugin> {
        self.side(id.side).get(&*id.name)
    }

    pub fn get_mut(&mut self, id: &PluginId) -> Option<&mut InstalledPlugin> {
        self.side_mut(id.side).get_mut(&*id.name)
    }

    /// Adds a plugin or replaces the one with the same id.
    pub fn insert(&mut self, id: &PluginId, entry: InstalledPlugin) {
        self.side_mut(id.side).insert(id.name.to_string(), entry);
    }

    pub fn remove(&mut self, id: &PluginId) -> Option<InstalledPlugin> {
        self.side_mut(id.side).remove(&*id.name)
    }

    /// Finds a plugin by its name, or by side and name: `files`, `plugins.files`, `agent.notes`.
    pub fn find(&self, name: &str) -> Option<PluginId> {
        self.iter().map(|(id, _)| id).find(|id| id.is_named(name))
    }

    pub(super) fn to_text(&self) -> Result<String, toml_edit::ser::Error> {
        let mut document = DocumentMut::new();
        document.decor_mut().set_prefix(HEADER);
        document.insert("version", value(FORMAT));
        for side in [Side::Server, Side::Agent] {
            let mut table = Table::new();
            table.set_implicit(true);
            for (name, entry) in self.side(side) {
                table.insert(name, Item::Table(entry.to_table()?));
            }
            if !table.is_empty() {
                document.insert(side.table(), Item::Table(table));
            }
        }
        Ok(document.to_string())
    }
}

/// Copies a table together with its comments, which belong to the keys.
fn to_table(item: &Item) -> Option<Table> {
    item.as_table().cloned().or_else(|| item.as_inline_table().cloned().map(toml_edit::InlineTable::into_table))
}
