//! Signatures as minisign makes them, with keys that are derived from one byte.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use blake2::{Blake2b512, Digest};
use ring::signature::{Ed25519KeyPair, KeyPair};

/// A key.
pub struct Minisign {
    id: [u8; 8],
    key: Ed25519KeyPair,
}

impl Minisign {
    /// The key with this number.
    pub fn key(number: u8) -> Self {
        let key = Ed25519KeyPair::from_seed_unchecked(&[number; 32]).expect("any seed makes a key");
        Self { id: [number; 8], key }
    }

    /// The public key in the form of the configuration.
    pub fn public(&self) -> String {
        STANDARD.encode([b"Ed", self.id.as_slice(), self.key.public_key().as_ref()].concat())
    }

    /// The text of a signature over these bytes.
    pub fn sign(&self, bytes: &[u8], trusted_comment: &str) -> String {
        let signature = self.key.sign(&Blake2b512::digest(bytes));
        let global = self.key.sign(&[signature.as_ref(), trusted_comment.as_bytes()].concat());
        let line = STANDARD.encode([b"ED", self.id.as_slice(), signature.as_ref()].concat());
        let global = STANDARD.encode(global);
        format!("untrusted comment: of the suite\n{line}\ntrusted comment: {trusted_comment}\n{global}\n")
    }
}
