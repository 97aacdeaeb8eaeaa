//! SHA-256 digests, which identify components.

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize, Serializer};
use sha2::{Digest as _, Sha256};
use std::sync::Arc;

/// The text `sha256:` and 64 hexadecimal digits in lower case. Clones are cheap.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(Arc<str>);

#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not a digest: write `sha256:` and 64 hexadecimal digits in lower case")]
pub struct DigestError(String);

impl Digest {
    pub fn sha256(bytes: &[u8]) -> Self {
        let mut text = *b"sha256:0000000000000000000000000000000000000000000000000000000000000000";
        HEXLOWER.encode_mut(&Sha256::digest(bytes), &mut text[7..]);
        Self(String::from_utf8_lossy(&text).into())
    }

    /// Parses a digest; refuses any other length and any other algorithm.
    pub fn parse(text: &str) -> Result<Self, DigestError> {
        let hex = text.strip_prefix("sha256:").filter(|hex| hex.len() == 64);
        let plain = |hex: &str| hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        match hex {
            Some(hex) if plain(hex) => Ok(Self(text.into())),
            _ => Err(DigestError(text.chars().filter(|c| !c.is_control()).take(128).collect())),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The digits alone, which are safe in file names.
    pub fn hex(&self) -> &str {
        self.0.strip_prefix("sha256:").unwrap_or_default()
    }
}

impl std::fmt::Display for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_sha256() {
        let empty = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(Digest::sha256(b"").as_str(), empty);
        assert_eq!(Digest::parse(empty).unwrap(), Digest::sha256(b""));
    }

    #[test]
    fn nothing_else_is_a_digest() {
        let hex = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        for bad in [hex, &format!("sha1:{hex}"), &format!("sha256:{}", &hex[..32]), &format!("sha256:{hex}0")] {
            assert!(Digest::parse(bad).is_err(), "{bad}");
        }
        assert!(Digest::parse(&format!("sha256:{}", hex.to_uppercase())).is_err());
        assert!(Digest::parse("sha256:../../../../etc/passwd").is_err());
    }
}
