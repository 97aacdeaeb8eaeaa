//! Secrets of the operator's, which the host sends for plugins and never shows: not to a guest, a client, a log or a
//! record.
//!
//! A value has no `Debug`, `Display` or `Serialize` that shows it, and its memory is overwritten when it is dropped.

mod settings;

pub use settings::SecretSource;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use zeroize::{Zeroize, Zeroizing};

/// The shortest. A shorter one could be guessed, and an answer could not be searched for it without hitting other text.
const MIN: usize = 8;
/// The longest: it must fit into a header.
const MAX: usize = 4 << 10;

/// One secret.
pub struct Secret {
    name: String,
    value: Zeroizing<String>,
}

impl Secret {
    /// Checks a value; a line's end at the end of it does not count.
    pub fn new(name: &str, mut value: Zeroizing<String>) -> Result<Self, SecretError> {
        let fail = |reason| SecretError { name: name.to_owned(), reason };
        let end = value.trim_end_matches(['\r', '\n']).len();
        value.truncate(end);
        if !(MIN..=MAX).contains(&value.len()) {
            return Err(fail(Reason::Length));
        }
        // Anything else could not be sent in a header, or would begin another one.
        if !value.chars().all(|c| c == ' ' || c.is_ascii_graphic()) || value.starts_with(' ') || value.ends_with(' ') {
            return Err(fail(Reason::Characters));
        }
        Ok(Self { name: name.to_owned(), value })
    }

    /// Its key in the configuration.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it is. Whoever asks sends it, or looks for it where it must not be.
    pub fn reveal(&self) -> &str {
        &self.value
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[secret {}]", self.name)
    }
}

/// A secret that cannot be had.
#[derive(Debug, thiserror::Error)]
#[error("[secrets.{name}] {reason}")]
pub struct SecretError {
    name: String,
    reason: Reason,
}

#[derive(Debug, thiserror::Error)]
enum Reason {
    #[error("cannot read the file {0}: {1}")]
    File(String, std::io::Error),
    #[error("the variable {0} is not set, or is no text")]
    Env(String),
    #[error("the keyring has no entry of this name that can be read: {0}")]
    Keyring(String),
    #[error(
        "the secret must be of {MIN} to {MAX} bytes: a shorter one could be guessed, and not be told from other text"
    )]
    Length,
    #[error("the secret must be one line of printable ASCII, since it is sent in a header")]
    Characters,
}

/// All secrets, by name. Read at the start, once.
#[derive(Debug, Default)]
pub struct Vault(BTreeMap<String, Arc<Secret>>);

impl Vault {
    /// Reads them. `variable` gives a variable of the environment.
    pub fn open(
        sources: &BTreeMap<String, SecretSource>,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Self, SecretError> {
        let mut secrets = BTreeMap::new();
        for (name, source) in sources {
            let value = read(source, &variable).map_err(|reason| SecretError { name: name.clone(), reason })?;
            secrets.insert(name.clone(), Arc::new(Secret::new(name, value)?));
        }
        Ok(Self(secrets))
    }

    /// One of them.
    pub fn get(&self, name: &str) -> Option<&Arc<Secret>> {
        self.0.get(name)
    }
}

fn read(source: &SecretSource, variable: impl Fn(&str) -> Option<OsString>) -> Result<Zeroizing<String>, Reason> {
    match source {
        SecretSource::File(path) => {
            let text = std::fs::read_to_string(path);
            let text = text.map_err(|error| Reason::File(path.display().to_string(), error))?;
            warn_of_readers(path);
            Ok(Zeroizing::new(text))
        }
        SecretSource::Env(name) => match variable(name).map(OsString::into_string) {
            Some(Ok(text)) => Ok(Zeroizing::new(text)),
            Some(Err(text)) => {
                text.into_encoded_bytes().zeroize();
                Err(Reason::Env(name.clone()))
            }
            None => Err(Reason::Env(name.clone())),
        },
        SecretSource::Keyring(service, user) => from_keyring(service, user),
    }
}

/// Others of this machine could read it.
#[cfg(unix)]
fn warn_of_readers(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let open = std::fs::metadata(path).is_ok_and(|file| file.permissions().mode() & 0o077 != 0);
    if open {
        let path = path.display();
        tracing::warn!(
            "others of this machine may read the secret in {path}: `chmod 600 {path}` keeps it to its owner"
        );
    }
}

#[cfg(not(unix))]
fn warn_of_readers(_: &Path) {}

#[cfg(target_os = "linux")]
fn from_keyring(service: &str, user: &str) -> Result<Zeroizing<String>, Reason> {
    use keyring_core::api::CredentialStoreApi;
    let words = |error: keyring_core::Error| Reason::Keyring(error.to_string());
    let store = linux_keyutils_keyring_store::Store::new().map_err(words)?;
    let entry = store.build(service, user, None).map_err(words)?;
    entry.get_password().map(Zeroizing::new).map_err(words)
}

#[cfg(not(target_os = "linux"))]
fn from_keyring(_: &str, _: &str) -> Result<Zeroizing<String>, Reason> {
    Err(Reason::Keyring("keyrings are read on Linux only; use `file` or `env`".into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vault(toml: &str) -> Result<Vault, String> {
        let sources = toml::from_str(toml).map_err(|error| error.to_string())?;
        let variable = |name: &str| (name == "TOKEN").then(|| OsString::from("canary-1234"));
        Vault::open(&sources, variable).map_err(|error| error.to_string())
    }

    #[test]
    fn a_secret_is_of_one_place() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("key");
        std::fs::write(&file, "canary-5678\n").unwrap();
        let file = format!("a.file = {:?}\nb.env = \"TOKEN\"", file.display().to_string());
        let vault = vault(&file).unwrap();
        assert_eq!(vault.get("a").unwrap().reveal(), "canary-5678");
        assert_eq!(vault.get("b").unwrap().reveal(), "canary-1234");
        assert!(vault.get("c").is_none());
        assert_eq!(format!("{vault:?}"), r#"Vault({"a": [secret a], "b": [secret b]})"#);
    }

    #[test]
    fn what_is_wrong_is_said_without_the_secret() {
        for (wrong, words) in [
            ("a.file = \"/none\"", "cannot read the file /none"),
            ("a.env = \"NONE\"", "the variable NONE is not set"),
            ("a.env = \"x\"\na.file = \"y\"", "write one of"),
            ("a = {}", "write one of"),
            ("a.keyring = \"x\"", "`service/user`"),
            ("a.keyring = \"portcullis-test/nobody\"", "[secrets.a] the keyring"),
            ("a.value = \"x\"", "unknown field"),
        ] {
            let error = vault(wrong).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
        for bad in ["tiny", "two\nlines here", "tab\there....", " canary-1234", "sécret-1234", &"x".repeat(MAX + 1)] {
            let error = Secret::new("a", Zeroizing::new(bad.to_owned())).unwrap_err().to_string();
            assert!(error.starts_with("[secrets.a] the secret must") && !error.contains(bad), "{error}");
        }
    }
}
