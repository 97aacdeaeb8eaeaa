//! Edits a configuration file: one process at a time, keeping comments and layout, with atomic writes.

use super::error::ConfigError;
use super::host_config::Config;
use platform::files::replace_file;
use platform::telemetry::printable;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use toml_edit::{DocumentMut, Item, Table};

/// An exclusively locked configuration file.
pub struct ConfigEditor {
    /// As the user named it, for messages.
    path: PathBuf,
    canonical_path: PathBuf,
    pub document: DocumentMut,
    _guard: File,
}

impl ConfigEditor {
    /// Waits for the lock, then reads the file. Blocks.
    pub fn open(path: &Path) -> Result<Self, ConfigError> {
        let fail = |error| ConfigError::reading(path, error);
        if !fs::metadata(path).map_err(fail)?.is_file() {
            let message = "it is no file that can be changed: write the configuration into one".to_owned();
            return Err(ConfigError::Parse { path: path.to_owned(), message });
        }
        // The target of a link is replaced, not the link.
        let canonical_path = fs::canonicalize(path).map_err(fail)?;
        // The folder is locked because the file itself is replaced.
        let guard = File::open(canonical_path.parent().unwrap_or(Path::new("/"))).map_err(fail)?;
        guard.lock().map_err(fail)?;
        let text = fs::read_to_string(&canonical_path).map_err(fail)?;
        let document =
            text.parse().map_err(|error| ConfigError::Parse { path: path.to_owned(), message: format!("{error}") })?;
        Ok(Self { path: path.to_owned(), canonical_path, document, _guard: guard })
    }

    /// Adds `[parent.name]` at the end. Comments there stay with the table that they are below.
    pub fn add_table(&mut self, parent: &str, name: &str, mut table: Table) -> Result<(), ConfigError> {
        let before = self.document.trailing().as_str().unwrap_or_default().to_owned();
        let is_first = before.is_empty() && self.document.is_empty();
        let gap = if is_first || before.ends_with("\n\n") { "" } else { "\n" };
        let fail = |message: &str| ConfigError::Parse { path: self.path.clone(), message: message.to_owned() };
        let parents = self.document.entry(parent).or_insert_with(|| {
            let mut parents = Table::new();
            parents.set_implicit(true);
            Item::Table(parents)
        });
        let parents = parents.as_table_like_mut().ok_or_else(|| fail(&format!("`{parent}` is no table")))?;
        if parents.contains_key(name) {
            return Err(fail(&format!("there is a [{parent}.{}] already", printable(name))));
        }
        table.set_position(Some(isize::MAX));
        table.decor_mut().set_prefix(format!("{before}{gap}"));
        parents.insert(name, Item::Table(table));
        self.document.set_trailing("");
        Ok(())
    }

    /// Removes `[parent.name]` with the comments right above it. Earlier comments stay where they are. Returns whether there
    /// was one.
    pub fn remove_table(&mut self, parent: &str, name: &str) -> bool {
        let parents = self.document.get_mut(parent).and_then(Item::as_table_like_mut);
        let Some(removed) = parents.and_then(|parents| parents.remove(name)) else {
            return false;
        };
        let Some((at, above)) = removed.as_table().and_then(|table| Some((table.position()?, prefix(table)))) else {
            return true;
        };
        let kept = &above[..last_blank_line(&above)];
        let mut next = isize::MAX;
        each_table(self.document.as_table_mut(), &mut |table| {
            next = table.position().filter(|found| *found > at).map_or(next, |found| next.min(found));
        });
        let mut is_kept = false;
        each_table(self.document.as_table_mut(), &mut |table| {
            if table.position() == Some(next) && !is_kept {
                is_kept = true;
                let text = format!("{kept}{}", prefix(table));
                table.decor_mut().set_prefix(text);
            }
        });
        if !is_kept {
            let text = format!("{kept}{}", self.document.trailing().as_str().unwrap_or_default());
            self.document.set_trailing(text);
        }
        true
    }

    /// Parses the edited text.
    pub fn check(&self) -> Result<Config, ConfigError> {
        let folder = std::path::absolute(&self.path).ok().and_then(|path| path.parent().map(Path::to_owned));
        Config::parse(&self.document.to_string(), &self.path, &folder.unwrap_or_default())
    }

    /// Replaces the file atomically. Keeps its permissions.
    pub fn save(&self) -> Result<(), ConfigError> {
        let permissions = fs::metadata(&self.canonical_path).map(|metadata| metadata.permissions());
        permissions
            .and_then(|same| replace_file(&self.canonical_path, self.document.to_string().as_bytes(), same))
            .map_err(|error| {
                let message = format!("cannot write it: {error}; check who may write to its folder");
                ConfigError::Parse { path: self.path.clone(), message }
            })
    }
}

/// The text above a table's header.
fn prefix(table: &Table) -> String {
    table.decor().prefix().and_then(|prefix| prefix.as_str()).unwrap_or_default().to_owned()
}

/// Where the last blank line of a text begins; 0 if there is none.
fn last_blank_line(text: &str) -> usize {
    let (mut at, mut last) = (0, 0);
    for line in text.split_inclusive('\n') {
        if line.ends_with('\n') && line.trim().is_empty() {
            last = at;
        }
        at += line.len();
    }
    last
}

/// Visits all tables with a header of their own.
fn each_table(table: &mut Table, visit: &mut dyn FnMut(&mut Table)) {
    for (_, item) in table.iter_mut() {
        match item {
            Item::Table(inner) => {
                if !inner.is_implicit() && !inner.is_dotted() {
                    visit(inner);
                }
                each_table(inner, visit);
            }
            Item::ArrayOfTables(tables) => {
                for inner in tables.iter_mut() {
                    visit(inner);
                    each_table(inner, visit);
                }
            }
            Item::None | Item::Value(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn removing_what_was_added_leaves_the_text_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("portcullis.toml");
        let windows = "[server]\r\n\r\n# a\r\n\r\n# b\r\n";
        for text in [include_str!("first.toml"), "", "# alone\n", "[server]\n", "[server]\n\n# a\n\n# b\n", windows] {
            fs::write(&path, text).unwrap();
            let mut file = ConfigEditor::open(&path).unwrap();
            for name in ["b", "a"] {
                let mut table = Table::new();
                table["command"] = toml_edit::value(name);
                file.add_table("upstream", name, table).unwrap();
            }
            file.save().unwrap();
            drop(file);
            for removed in [["b", "a"], ["a", "b"]] {
                let mut file = ConfigEditor::open(&path).unwrap();
                assert!(removed.iter().all(|name| file.remove_table("upstream", name)));
                // The editor writes the line ends of this system.
                assert_eq!(file.document.to_string(), text.replace("\r\n", "\n"), "{removed:?}");
            }
        }
    }

    #[test]
    fn a_removed_table_takes_only_the_comments_right_above_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("portcullis.toml");
        fs::write(&path, "# first\n\n# of b\n[secrets.b]\nfile = \"b\"\n\n# of c\n[secrets.c]\nfile = \"c\"\n# last\n")
            .unwrap();
        let mut file = ConfigEditor::open(&path).unwrap();
        assert!(file.remove_table("secrets", "b"));
        assert_eq!(file.document.to_string(), "# first\n\n# of c\n[secrets.c]\nfile = \"c\"\n# last\n");
    }

    #[test]
    fn saving_keeps_links_and_permissions() {
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (folder.path().join("real.toml"), folder.path().join("link.toml"));
        fs::write(&real, "# mine\n[server]\nreload = true\n").unwrap();
        fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
        symlink("real.toml", &link).unwrap();
        let mut file = ConfigEditor::open(&link).unwrap();
        file.document["server"]["reload"] = toml_edit::value(false);
        assert!(!file.check().unwrap().reload);
        file.save().unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read_to_string(&real).unwrap(), "# mine\n[server]\nreload = false\n");
        assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
        drop(file);
        fs::write(&real, "# mine\n[server]\n#http = \"1\"\n").unwrap();
        let mut file = ConfigEditor::open(&link).unwrap();
        for name in ["b", "a"] {
            let mut table = Table::new();
            table["file"] = toml_edit::value(name);
            file.add_table("secrets", name, table).unwrap();
        }
        let text = "# mine\n[server]\n#http = \"1\"\n\n[secrets.b]\nfile = \"b\"\n\n[secrets.a]\nfile = \"a\"\n";
        assert_eq!(file.document.to_string(), text);
        let again = file.add_table("secrets", "a", Table::new()).unwrap_err().to_string();
        assert!(again.contains("[secrets.a] already"), "{again}");
        assert!(file.remove_table("secrets", "b") && !file.remove_table("secrets", "b"));
        assert_eq!(file.document.to_string(), "# mine\n[server]\n#http = \"1\"\n\n[secrets.a]\nfile = \"a\"\n");
        file.document["server"]["port"] = toml_edit::value(1);
        assert!(file.check().unwrap_err().to_string().contains("unknown field `port`"));
        assert!(ConfigEditor::open(&folder.path().join("none.toml")).is_err());
    }
}
