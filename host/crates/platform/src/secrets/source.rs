//! The section `[secrets.NAME]`: where a secret is stored.

use serde::Deserialize;
use std::path::{Path, PathBuf};

/// Where a secret is stored. The configuration must name exactly one source.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Table")]
pub enum SecretSource {
    /// A file with the secret and nothing else.
    File(PathBuf),
    /// A variable of the host's environment.
    Env(String),
    /// The keyring of this machine's user, by service and user name.
    Keyring(String, String),
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Table {
    file: Option<PathBuf>,
    env: Option<String>,
    keyring: Option<String>,
}

impl TryFrom<Table> for SecretSource {
    type Error = String;

    fn try_from(table: Table) -> Result<Self, String> {
        match table {
            Table { file: Some(file), env: None, keyring: None } => Ok(Self::File(file)),
            Table { file: None, env: Some(name), keyring: None } => Ok(Self::Env(name)),
            Table { file: None, env: None, keyring: Some(entry) } => match entry.split_once('/') {
                Some((service, user)) if !service.is_empty() && !user.is_empty() => {
                    Ok(Self::Keyring(service.to_owned(), user.to_owned()))
                }
                _ => Err("`keyring` is `service/user`".into()),
            },
            _ => Err("write one of `file`, `env` and `keyring`".into()),
        }
    }
}

impl SecretSource {
    /// Makes a file's path absolute with `resolve`.
    pub fn resolved(self, resolve: impl FnOnce(&Path) -> PathBuf) -> Self {
        match self {
            Self::File(path) => Self::File(resolve(&path)),
            Self::Env(_) | Self::Keyring(..) => self,
        }
    }
}
