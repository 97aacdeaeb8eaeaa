//! SHA-256 hashes, which link the lines of the log.

use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};
use std::fmt;
use std::io::{self, Read};
use std::str::FromStr;

/// The number of hexadecimal digits of a hash.
pub(super) const DIGITS: usize = 64;

#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Hash([u8; 32]);

impl Hash {
    /// The value that the first line has as the hash of its predecessor.
    pub const NONE: Self = Self([0; 32]);

    pub(super) fn compute(parts: &[&[u8]]) -> Self {
        let mut hasher = Sha256::new();
        for part in parts {
            hasher.update(part);
        }
        Self(hasher.finalize().into())
    }

    /// The hash of everything that can be read from `from`.
    pub(super) fn read(from: &mut impl Read) -> io::Result<Self> {
        let (mut hasher, mut bytes) = (Sha256::new(), vec![0; 64 << 10]);
        loop {
            match from.read(&mut bytes)? {
                0 => return Ok(Self(hasher.finalize().into())),
                read => hasher.update(&bytes[..read]),
            }
        }
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        HEXLOWER.encode_display(&self.0).fmt(f)
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Hash {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let fail = || format!("`{text}` is not a hash: write {DIGITS} hexadecimal digits in lower case");
        let bytes = HEXLOWER.decode(text.as_bytes()).ok().and_then(|bytes| bytes.try_into().ok());
        bytes.map(Self).ok_or_else(fail)
    }
}
