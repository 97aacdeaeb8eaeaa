//! All secrets of the configuration.

use super::secret::{Secret, SecretError, SecretProblem};
use super::source::SecretSource;
use crate::files::{read_key_file, replace_file};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;
use zeroize::{Zeroize, Zeroizing};

/// All secrets by name. They are read once, when the host starts.
#[derive(Debug, Default)]
pub struct SecretStore {
    secrets: BTreeMap<String, Arc<Secret>>,
    /// The reason for each secret that is missing because its place is empty.
    missing: BTreeMap<String, String>,
}

impl SecretStore {
    /// Reads all secrets. `variable` returns a variable of the environment. A secret whose place is empty is missing, which
    /// only stops the calls that need it. A secret that cannot be used is an error.
    pub fn open(
        sources: &BTreeMap<String, SecretSource>,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Self, SecretError> {
        let mut store = Self::default();
        for (name, source) in sources {
            match read(source, &variable).map_err(|reason| SecretError { name: name.clone(), reason }) {
                Ok(value) => drop(store.secrets.insert(name.clone(), Arc::new(Secret::new(name, value)?))),
                Err(error) if error.reason.is_missing() => {
                    let hint = match source {
                        SecretSource::Env(_) => "set it, or write `file` in its place".to_owned(),
                        SecretSource::File(_) | SecretSource::Keyring(..) => {
                            format!("`portcullis secret set {name}` sets it")
                        }
                    };
                    let text = format!("{error}; {hint}");
                    store.missing.insert(name.clone(), text);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(store)
    }

    pub fn get(&self, name: &str) -> Option<&Arc<Secret>> {
        self.secrets.get(name)
    }

    pub fn all(&self) -> impl Iterator<Item = &Arc<Secret>> {
        self.secrets.values()
    }

    /// The secrets that are missing because their place is empty: a sentence for each, by name.
    pub fn missing(&self) -> &BTreeMap<String, String> {
        &self.missing
    }
}

fn read(
    source: &SecretSource,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<Zeroizing<String>, SecretProblem> {
    match source {
        SecretSource::File(path) => {
            let text = read_key_file(path, "the file of a secret", u64::MAX);
            text.map_err(|error| SecretProblem::File(path.display().to_string(), error))
        }
        SecretSource::Env(name) => match variable(name).map(OsString::into_string) {
            Some(Ok(text)) => Ok(Zeroizing::new(text)),
            Some(Err(text)) => {
                text.into_encoded_bytes().zeroize();
                Err(SecretProblem::NotText(name.clone()))
            }
            None => Err(SecretProblem::Env(name.clone())),
        },
        SecretSource::Keyring(service, user) => from_keyring(service, user),
    }
}

#[cfg(target_os = "linux")]
fn from_keyring(service: &str, user: &str) -> Result<Zeroizing<String>, SecretProblem> {
    let password = keyring_entry(service, user).and_then(|entry| entry.get_password());
    password.map(Zeroizing::new).map_err(|error| match error {
        keyring_core::Error::NoEntry => SecretProblem::NoEntry,
        error => SecretProblem::Keyring(error.to_string()),
    })
}

#[cfg(target_os = "linux")]
fn keyring_entry(service: &str, user: &str) -> Result<keyring_core::Entry, keyring_core::Error> {
    use keyring_core::api::CredentialStoreApi;
    linux_keyutils_keyring_store::Store::new()?.build(service, user, None)
}

/// Stores a secret at the place that it is read from. The error is a sentence.
pub fn write_secret(secret: &Secret, source: &SecretSource) -> Result<(), String> {
    match source {
        SecretSource::File(path) => {
            // If the path is a link, its target is replaced, not the link.
            let path = path.canonicalize().unwrap_or_else(|_| path.clone());
            let text = Zeroizing::new(format!("{}\n", secret.reveal()));
            let only_owner = Permissions::from_mode(0o600);
            let failed = |error| format!("cannot write {}: {error}", path.display());
            replace_file(&path, text.as_bytes(), only_owner).map_err(failed)
        }
        SecretSource::Env(name) => Err(format!(
            "[secrets.{}] is read from the variable {name}: set that, or write `file` in its place",
            secret.name()
        )),
        #[cfg(target_os = "linux")]
        SecretSource::Keyring(service, user) => {
            let stored = keyring_entry(service, user).and_then(|entry| entry.set_password(secret.reveal()));
            stored.map_err(|error| format!("the keyring does not take it: {error}"))
        }
        #[cfg(not(target_os = "linux"))]
        SecretSource::Keyring(..) => Err("keyrings are used on Linux only; write `file` in its place".into()),
    }
}

#[cfg(not(target_os = "linux"))]
fn from_keyring(_: &str, _: &str) -> Result<Zeroizing<String>, SecretProblem> {
    Err(SecretProblem::Keyring("keyrings are read on Linux only; use `file` or `env`".into()))
}

#[cfg(test)]
mod tests {
    use super::super::secret::MAX;
    use super::*;

    fn vault(toml: &str) -> Result<SecretStore, String> {
        let sources = toml::from_str(toml).map_err(|error| error.to_string())?;
        let variable = |name: &str| (name == "TOKEN").then(|| OsString::from("canary-1234"));
        SecretStore::open(&sources, variable).map_err(|error| error.to_string())
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
        assert_eq!(format!("{vault:?}"), r#"SecretStore { secrets: {"a": [secret a], "b": [secret b]}, missing: {} }"#);
    }

    #[test]
    fn an_empty_place_only_stops_who_needs_it() {
        let vault = vault("a.env = \"NONE\"\nb.env = \"TOKEN\"\nc.file = \"/none\"").unwrap();
        assert_eq!(vault.all().map(|secret| secret.name()).collect::<Vec<_>>(), ["b"]);
        let missing: Vec<_> = vault.missing().values().collect();
        assert!(missing[0].contains("[secrets.a] the variable NONE is not set"), "{missing:?}");
        assert!(missing[0].ends_with("; set it, or write `file` in its place"), "{missing:?}");
        assert!(missing[1].contains("cannot read the file /none") && missing.len() == 2, "{missing:?}");
        assert!(missing[1].ends_with("; `portcullis secret set c` sets it"), "{missing:?}");
    }

    #[test]
    fn a_secret_is_stored_where_it_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let source = SecretSource::File(folder.path().join("key"));
        let secret = Secret::new("a", Zeroizing::new("canary-5678".into())).unwrap();
        write_secret(&secret, &source).unwrap();
        let sources = BTreeMap::from([("a".to_owned(), source)]);
        assert_eq!(SecretStore::open(&sources, |_| None).unwrap().get("a").unwrap().reveal(), "canary-5678");
        let mode = std::fs::metadata(folder.path().join("key")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("key", &link).unwrap();
        let other = Secret::new("a", Zeroizing::new("canary-9999".into())).unwrap();
        write_secret(&other, &SecretSource::File(link.clone())).unwrap();
        assert!(link.is_symlink());
        assert_eq!(std::fs::read_to_string(folder.path().join("key")).unwrap(), "canary-9999\n");
        assert!(write_secret(&secret, &SecretSource::Env("X".into())).unwrap_err().contains("the variable X"));
    }

    #[test]
    fn what_is_wrong_is_said_without_the_secret() {
        for (wrong, words) in [
            ("a.file = \"/\"", "cannot read the file /"),
            ("a.env = \"x\"\na.file = \"y\"", "write one of"),
            ("a = {}", "write one of"),
            ("a.keyring = \"x\"", "`service/user`"),
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
