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

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

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
        file.document["server"]["port"] = toml_edit::value(1);
        assert!(file.check().unwrap_err().to_string().contains("unknown field `port`"));
        assert!(ConfigEditor::open(&folder.path().join("none.toml")).is_err());
    }
}
