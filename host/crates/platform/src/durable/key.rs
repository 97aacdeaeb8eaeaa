//! Names of records, logs and leases.

use std::fmt;

/// The longest key, in bytes.
const MAX: usize = 200;

/// A name such as `task/2f6c`: parts of `A-Z a-z 0-9 - _ .`, separated by `/`. Every store can keep such a name unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(String);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a key of the store: {0:?}; write 1 to {MAX} bytes of A-Z a-z 0-9 - _ . in parts divided by /")]
pub struct InvalidKey(String);

impl Key {
    pub fn new(text: impl Into<String>) -> Result<Self, InvalidKey> {
        let text = text.into();
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        let fits = text.len() <= MAX && text.split('/').all(|part| !part.is_empty() && part.bytes().all(allowed));
        if fits { Ok(Self(text)) } else { Err(InvalidKey(text)) }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_portable_names_are_keys() {
        for good in ["a", "task/2f6c", "A.b-c_9/x/y", &"k".repeat(MAX)] {
            assert_eq!(Key::new(good).unwrap().as_str(), good);
        }
        for bad in ["", "/", "a/", "/a", "a//b", "a b", "ä", "a*", "a>b", &"k".repeat(MAX + 1)] {
            assert!(Key::new(bad).is_err(), "{bad}");
        }
    }
}
