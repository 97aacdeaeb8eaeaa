//! API keys. The file holds only their digests, so that a person who reads it cannot use the keys.

use crate::files::read_key_file;
use crate::random::random_text;
use crate::telemetry::printable;
use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
use policy::{Principal, is_name};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

/// The prefix of our keys, so that people and secret scanners recognise them.
const PREFIX: &str = "portcullis_";
/// The longest name.
const MAX_NAME: usize = 64;

type KeyDigest = [u8; 32];

/// API keys cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeysError {
    #[error("cannot read the API keys {path}: {source}; make the first with `portcullis key new NAME`")]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{path}: {message}")]
    Parse { path: PathBuf, message: String },
    #[error("`{0}` is no name for a key: use 1 to {MAX_NAME} of A-Z a-z 0-9 - _ . @")]
    Name(String),
    #[error("no random bytes can be had: {0}")]
    Random(std::io::Error),
}

#[derive(Debug, Default)]
pub(super) struct ApiKeys(HashMap<KeyDigest, Principal>);

impl ApiKeys {
    /// Reads the file: lines of the form `alice = "sha256:<64 hex digits>"`.
    pub(super) fn read(path: &Path) -> Result<Self, KeysError> {
        let text = read_key_file(path, "the file of API keys", u64::MAX)
            .map_err(|source| KeysError::Read { path: path.to_owned(), source })?;
        Self::parse(&text).map_err(|message| KeysError::Parse { path: path.to_owned(), message })
    }

    fn parse(text: &str) -> Result<Self, String> {
        let lines: BTreeMap<String, String> = toml::from_str(text).map_err(|error| error.to_string())?;
        let mut keys = HashMap::new();
        for (name, digest) in lines {
            check_name(&name).map_err(|error| error.to_string())?;
            let digest = digest.strip_prefix("sha256:").and_then(from_hex).ok_or_else(|| {
                format!("`{name}` must be \"sha256:<64 hex digits>\", as `portcullis key new {name}` prints it")
            })?;
            if let Some(other) = keys.insert(digest, Principal::from_source("key", &name)) {
                return Err(format!("`{name}` and `{other}` have the same key; each needs its own"));
            }
        }
        Ok(Self(keys))
    }

    /// The owner of a key. Digests are compared instead of keys, so that the time of the comparison reveals nothing about a
    /// key.
    pub(super) fn owner(&self, key: &str) -> Option<Principal> {
        self.0.get(&digest_of(key)).cloned()
    }
}

/// A newly generated key.
pub struct NewKey {
    /// The key, which is shown to its owner and cannot be recovered.
    pub key: String,
    pub line: String,
}

impl NewKey {
    /// Generates a random key of 256 bits.
    pub fn generate(name: &str) -> Result<Self, KeysError> {
        check_name(name)?;
        let key = format!("{PREFIX}{}", random_text::<32>().map_err(KeysError::Random)?);
        // The name is quoted, because bare keys in TOML contain no dot and no `@`.
        let line = format!("\"{name}\" = \"sha256:{}\"", HEXLOWER.encode(&digest_of(&key)));
        Ok(Self { key, line })
    }
}

fn check_name(name: &str) -> Result<(), KeysError> {
    is_name(name, MAX_NAME, "-_.@").then_some(()).ok_or_else(|| KeysError::Name(printable(name).into_owned()))
}

fn digest_of(key: &str) -> KeyDigest {
    Sha256::digest(key.as_bytes()).into()
}

fn from_hex(text: &str) -> Option<KeyDigest> {
    HEXLOWER_PERMISSIVE.decode(text.as_bytes()).ok()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_key_opens_and_no_other_does() {
        let (alice, bob) = (NewKey::generate("alice").unwrap(), NewKey::generate("bob@example.com").unwrap());
        let keys = ApiKeys::parse(&format!("{}\n{}\n", alice.line, bob.line)).unwrap();
        assert_eq!(keys.owner(&alice.key), Some(Principal::from_source("key", "alice")));
        assert_eq!(keys.owner(&bob.key), Some(Principal::from_source("key", "bob@example.com")));
        assert!(!alice.line.contains(&alice.key));
        for wrong in ["", "alice", &alice.line, &alice.key[1..], &format!("{}x", alice.key)] {
            assert_eq!(keys.owner(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn mistakes_are_named() {
        let digest = format!("sha256:{}", "0".repeat(64));
        for (text, expected) in [
            ("alice = \"secret\"".to_owned(), "sha256:<64 hex digits>"),
            (format!("alice = \"{digest}0\""), "sha256:<64 hex digits>"),
            (format!("alice = \"{digest}\"\nbob = \"{digest}\""), "same key"),
            (format!("\"a b\" = \"{digest}\""), "no name for a key"),
            (format!("alice = \"{digest}\"\nalice = \"{digest}\""), "duplicate"),
            ("[alice]\nkey = 1".to_owned(), "alice"),
        ] {
            let message = ApiKeys::parse(&text).unwrap_err();
            assert!(message.contains(expected), "{text}\n{message}");
        }
    }
}
