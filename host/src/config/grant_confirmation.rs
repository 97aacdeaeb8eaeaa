//! What a user confirms at a terminal for servers whose `server.grants` is "locked": the grants that the configuration and the
//! lock file contain now, by a digest of both files.
//!
//! The confirmation is a file in the state folder: a program that may change only files of its workspace, as an agent's shell
//! often is, can edit a configuration there, but cannot confirm it.

use super::host_config::Config;
use platform::files::{create_private_folder, replace_file};
use policy::Digest;
use std::fs::{self, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Below the state folder; it has a file for each configuration file.
const FOLDER: &str = "confirmed-grants";

#[derive(Debug, Clone)]
pub struct GrantConfirmation {
    config: PathBuf,
    lockfile: Option<PathBuf>,
    /// Contains the digest of the two files above that was confirmed last.
    pub file: PathBuf,
}

impl GrantConfirmation {
    /// None without a configuration file or a state folder.
    pub fn for_config(config: &Config) -> Option<Self> {
        let file = config.file.as_deref()?;
        let file = file.canonicalize().unwrap_or_else(|_| file.to_owned());
        let name = Digest::sha256(file.as_os_str().as_encoded_bytes());
        let confirmation = config.state.as_deref()?.join(FOLDER).join(name.hex());
        Some(Self { config: file, lockfile: config.lockfile.clone(), file: confirmation })
    }

    /// The digest of both files as they are now.
    pub fn current(&self) -> io::Result<Digest> {
        let config = fs::read(&self.config)?;
        let lockfile = match self.lockfile.as_deref().map(fs::read) {
            None => Vec::new(),
            Some(Err(error)) if error.kind() == ErrorKind::NotFound => Vec::new(),
            Some(read) => read?,
        };
        let parts = [config, lockfile].map(|text| Digest::sha256(&text).to_string());
        Ok(Digest::sha256(parts.concat().as_bytes()))
    }

    /// The digest that was confirmed last.
    pub fn confirmed(&self) -> Option<Digest> {
        Digest::parse(fs::read_to_string(&self.file).ok()?.trim()).ok()
    }

    /// Confirms the files with this digest.
    pub fn confirm(&self, digest: &Digest) -> io::Result<()> {
        let folder = self.file.parent().unwrap_or(Path::new("/"));
        let text = format!("{digest}\n");
        create_private_folder(folder)?;
        replace_file(&self.file, text.as_bytes(), Permissions::from_mode(0o600))
    }
}
