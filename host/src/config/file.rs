//! A configuration file, held to be changed: by one process at a time, and whole or not at all.

use super::{Config, ConfigError};
use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use toml_edit::DocumentMut;

/// The file, with its text as a person wrote it.
pub struct ConfigFile {
    named: PathBuf,
    /// Behind any links.
    path: PathBuf,
    /// What it says, to be changed.
    pub document: DocumentMut,
    _guard: File,
}

impl ConfigFile {
    /// Waits until nobody else changes it, and reads it. Blocks.
    pub fn hold(path: &Path) -> Result<Self, ConfigError> {
        let fail = |source| ConfigError::Read { path: path.to_owned(), source, hint: "" };
        // Links stay: what they lead to is replaced.
        let real = fs::canonicalize(path).map_err(fail)?;
        // The folder is locked, since the file is replaced.
        let guard = File::open(real.parent().unwrap_or(Path::new("/"))).map_err(fail)?;
        flock(&guard, FlockOperation::LockExclusive).map_err(|error| fail(error.into()))?;
        let text = fs::read_to_string(&real).map_err(fail)?;
        let document =
            text.parse().map_err(|error| ConfigError::Parse { path: path.to_owned(), message: format!("{error}") })?;
        Ok(Self { named: path.to_owned(), path: real, document, _guard: guard })
    }

    /// What the changed text means.
    pub fn check(&self) -> Result<Config, ConfigError> {
        let folder = std::path::absolute(&self.named).ok().and_then(|path| path.parent().map(Path::to_owned));
        Config::parse(&self.document.to_string(), &self.named, &folder.unwrap_or_default())
    }

    /// Puts the changed text in the place of the old one, with the same permissions.
    pub fn save(&self) -> Result<(), ConfigError> {
        let fail = |error: std::io::Error| ConfigError::Parse {
            path: self.named.clone(),
            message: format!("cannot write it: {error}"),
        };
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        let permissions = fs::metadata(&self.path).map_err(fail)?.permissions();
        let mut new = tempfile::NamedTempFile::new_in(folder).map_err(fail)?;
        new.write_all(self.document.to_string().as_bytes()).map_err(fail)?;
        new.as_file().set_permissions(permissions).map_err(fail)?;
        new.as_file().sync_all().map_err(fail)?;
        new.persist(&self.path).map_err(|error| fail(error.error))?;
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(fail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn a_link_stays_and_so_do_permissions() {
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (folder.path().join("real.toml"), folder.path().join("link.toml"));
        fs::write(&real, "# mine\n[server]\nreload = true\n").unwrap();
        fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
        symlink("real.toml", &link).unwrap();
        let mut file = ConfigFile::hold(&link).unwrap();
        file.document["server"]["reload"] = toml_edit::value(false);
        assert!(!file.check().unwrap().reload);
        file.save().unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read_to_string(&real).unwrap(), "# mine\n[server]\nreload = false\n");
        assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
        file.document["server"]["port"] = toml_edit::value(1);
        assert!(file.check().unwrap_err().to_string().contains("unknown field `port`"));
        assert!(ConfigFile::hold(&folder.path().join("none.toml")).is_err());
    }
}
