//! Edits a configuration file: one process at a time, keeping comments and layout, with atomic writes.

use super::error::ConfigError;
use super::host_config::Config;
use platform::files::replace_file;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use toml_edit::DocumentMut;

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
        file.document["server"]["port"] = toml_edit::value(1);
        assert!(file.check().unwrap_err().to_string().contains("unknown field `port`"));
        assert!(ConfigEditor::open(&folder.path().join("none.toml")).is_err());
    }
}
