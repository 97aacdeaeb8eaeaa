//! One secret, and the reasons why a secret cannot be used.

use std::fmt;
use std::io::ErrorKind;
use zeroize::Zeroizing;

/// Minimum length. A shorter secret could be guessed, and a search for it in responses would find other text.
const MIN: usize = 8;
/// Maximum length: it must fit into a header.
pub(super) const MAX: usize = 4 << 10;

pub struct Secret {
    name: String,
    value: Zeroizing<String>,
}

impl Secret {
    /// Checks a value; a trailing line break is removed.
    pub fn new(name: &str, mut value: Zeroizing<String>) -> Result<Self, SecretError> {
        let fail = |reason| SecretError { name: name.to_owned(), reason };
        let end = value.trim_end_matches(['\r', '\n']).len();
        value.truncate(end);
        if !(MIN..=MAX).contains(&value.len()) {
            return Err(fail(SecretProblem::Length));
        }
        // Other characters cannot be sent in a header, or would start another header.
        if !value.chars().all(|c| c == ' ' || c.is_ascii_graphic()) || value.starts_with(' ') || value.ends_with(' ') {
            return Err(fail(SecretProblem::Characters));
        }
        Ok(Self { name: name.to_owned(), value })
    }

    /// Its key in the configuration.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The value. Use it only to send it or to search responses for it.
    pub fn reveal(&self) -> &str {
        &self.value
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[secret {}]", self.name)
    }
}

/// A secret cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("[secrets.{name}] {reason}")]
pub struct SecretError {
    pub(super) name: String,
    pub(super) reason: SecretProblem,
}

impl SecretProblem {
    /// Whether the place where the secret should be is empty.
    pub(super) fn is_missing(&self) -> bool {
        match self {
            Self::File(_, error) => error.kind() == ErrorKind::NotFound,
            Self::Env(_) | Self::NoEntry => true,
            Self::NotText(_) | Self::Keyring(_) | Self::Length | Self::Characters => false,
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub(super) enum SecretProblem {
    #[error("cannot read the file {0}: {1}")]
    File(String, std::io::Error),
    #[error("the variable {0} is not set")]
    Env(String),
    #[error("the variable {0} is no text")]
    NotText(String),
    #[error("the keyring has no entry of this name")]
    NoEntry,
    #[error("the keyring cannot be read: {0}")]
    Keyring(String),
    #[error(
        "the secret must be of {MIN} to {MAX} bytes: a shorter one could be guessed, and not be told from other text"
    )]
    Length,
    #[error("the secret must be one line of printable ASCII, since it is sent in a header")]
    Characters,
}
