//! Computes a digest of JSON that is the same for equal values.

use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// The digest does not depend on the order of keys.
pub(crate) fn digest(value: &Value) -> [u8; 32] {
    let mut sha = Sha256::new();
    let mut kind = |tag: &[u8], length: usize| {
        sha.update(tag);
        sha.update((length as u64).to_le_bytes());
    };
    match value {
        Value::Object(fields) => {
            kind(b"object", fields.len());
            let mut sorted: Vec<_> = fields.iter().collect();
            sorted.sort_by_key(|(key, _)| *key);
            for (key, value) in sorted {
                sha.update(Sha256::digest(key));
                sha.update(digest(value));
            }
        }
        Value::Array(items) => {
            kind(b"array", items.len());
            items.iter().for_each(|item| sha.update(digest(item)));
        }
        scalar => {
            kind(b"scalar", 0);
            sha.update(scalar.to_string());
        }
    }
    sha.finalize().into()
}
