//! Canary secrets: random values that tests put where secrets are, and then search for in all output, messages and
//! files.

use aho_corasick::AhoCorasick;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use std::collections::BTreeSet;
use std::collections::hash_map::RandomState;
use std::fs;
use std::hash::{BuildHasher as _, Hasher as _};
use std::path::Path;
use std::sync::OnceLock;

/// All secrets of a test.
#[derive(Default)]
pub struct Canaries {
    places: Vec<String>,
    /// Each value itself, and the encodings in which it could leak by accident.
    forms: Vec<[String; FORMS]>,
    /// Searches for all of `forms` in one pass.
    search: OnceLock<AhoCorasick>,
}

const FORMS: usize = 5;

impl Canaries {
    /// An empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// A new secret for `place`, such as "the environment".
    pub fn put(&mut self, place: &str) -> String {
        // A new hasher has random keys: enough for a value that must not occur by chance.
        let random = || RandomState::new().build_hasher().finish();
        let value = format!("canary-{:016x}{:016x}", random(), random());
        self.keep(place, &value);
        value
    }

    /// Adds an existing secret, such as an API key, of at least six bytes.
    pub fn keep(&mut self, place: &str, value: &str) {
        assert!(value.len() >= 6, "{value:?} may well stand somewhere by chance");
        let (bytes, hex) = (value.as_bytes(), |byte: &u8| format!("{byte:02x}"));
        let texts = [
            value.to_owned(),
            // Without the last group, which depends on the bytes after the value.
            STANDARD_NO_PAD.encode(&bytes[..bytes.len() / 3 * 3]),
            URL_SAFE_NO_PAD.encode(&bytes[..bytes.len() / 3 * 3]),
            bytes.iter().map(hex).collect(),
            value.chars().rev().collect(),
        ];
        self.places.push(place.to_owned());
        self.forms.push(texts);
        self.search.take();
    }

    /// The number of secrets.
    pub fn number(&self) -> usize {
        self.places.len()
    }

    /// Every secret that occurs in these bytes, as "PLACE in WHERE".
    pub fn in_bytes(&self, place: &str, bytes: &[u8]) -> Vec<String> {
        let search = self
            .search
            .get_or_init(|| AhoCorasick::new(self.forms.as_flattened()).expect("some secrets are no large automaton"));
        let place_of = |form: usize| format!("{} in {place}", self.places[form / FORMS]);
        let found = search.find_overlapping_iter(bytes).map(|found| place_of(found.pattern().as_usize()));
        BTreeSet::from_iter(found).into_iter().collect()
    }

    /// Every secret that occurs in a file below a folder or in its name. `holds` selects the files that may hold
    /// secrets. Returns the number of files and the secrets found.
    pub fn in_folder(&self, folder: &Path, holds: &dyn Fn(&Path) -> bool) -> (usize, Vec<String>) {
        let (mut files, mut found, mut pending) = (0, vec![], vec![folder.to_owned()]);
        while let Some(path) = pending.pop() {
            let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
            found.extend(self.in_bytes("a file's name", path.as_os_str().as_encoded_bytes()));
            if metadata.is_dir() {
                pending.extend(fs::read_dir(&path).into_iter().flatten().flatten().map(|entry| entry.path()));
            } else if metadata.is_file() && !holds(&path) {
                files += 1;
                found.extend(self.in_bytes(&path.display().to_string(), &fs::read(&path).unwrap_or_default()));
            }
        }
        (files, found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_found_in_every_encoded_form() {
        let mut canaries = Canaries::new();
        let value = canaries.put("a test");
        let backwards: String = value.chars().rev().collect();
        let hex: String = value.bytes().map(|byte| format!("{byte:02x}")).collect();
        for told in [&value, &backwards, &hex, &STANDARD_NO_PAD.encode(&value), &URL_SAFE_NO_PAD.encode(&value)] {
            assert_eq!(canaries.in_bytes("here", format!("x{told}y").as_bytes()), ["a test in here"], "{told}");
        }
        assert!(canaries.in_bytes("here", &value.as_bytes()[1..]).is_empty());
        assert!(canaries.in_bytes("here", b"").is_empty());
    }
}
