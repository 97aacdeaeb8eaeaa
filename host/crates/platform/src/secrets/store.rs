//! All secrets of the configuration.

use super::secret::{Secret, SecretError, SecretProblem};
use super::source::SecretSource;
use crate::files::read_key_file;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::Arc;
use zeroize::{Zeroize, Zeroizing};

/// All secrets by name. They are read once, at the start.
#[derive(Debug, Default)]
pub struct SecretStore(BTreeMap<String, Arc<Secret>>);

impl SecretStore {
    /// Reads all secrets. `variable` returns a variable of the environment.
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

    pub fn get(&self, name: &str) -> Option<&Arc<Secret>> {
        self.0.get(name)
    }

    pub fn all(&self) -> impl Iterator<Item = &Arc<Secret>> {
        self.0.values()
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
                Err(SecretProblem::Env(name.clone()))
            }
            None => Err(SecretProblem::Env(name.clone())),
        },
        SecretSource::Keyring(service, user) => from_keyring(service, user),
    }
}

#[cfg(target_os = "linux")]
fn from_keyring(service: &str, user: &str) -> Result<Zeroizing<String>, SecretProblem> {
    use keyring_core::api::CredentialStoreApi;
    let words = |error: keyring_core::Error| SecretProblem::Keyring(error.to_string());
    let store = linux_keyutils_keyring_store::Store::new().map_err(words)?;
    let entry = store.build(service, user, None).map_err(words)?;
    entry.get_password().map(Zeroizing::new).map_err(words)
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
        assert_eq!(format!("{vault:?}"), r#"SecretStore({"a": [secret a], "b": [secret b]})"#);
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
