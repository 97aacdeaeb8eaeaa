//! A key, with the call that it stands for.

use crate::json_digest::digest;
use data_encoding::HEXLOWER;
use platform::durable::{InvalidKey, Key};
use policy::Principal;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// Bytes of a key.
const MOST: usize = 256;
/// The prefix of the names of all records.
pub(super) const PREFIX: &str = "idempotency";

/// Where a key comes from. Keys from different places are different, even if their text is the same.
#[derive(Debug, Clone, Copy)]
pub(crate) enum KeyScope<'a> {
    /// `_meta` of the request.
    Meta,
    /// An argument of this tool.
    Argument { tool: &'a str, argument: &'a str },
}

#[derive(Debug, Clone)]
pub(crate) struct CallKey {
    /// The text of the key, as the client has sent it.
    pub(crate) text: String,
    pub(super) principal: Principal,
    /// The name of its record. It contains the digest of principal, scope and key, so keys of different principals never
    /// collide.
    pub(super) record: Key,
    /// Digest of the tool and its arguments.
    pub(super) call: String,
}

impl CallKey {
    /// The error is a sentence for the client.
    pub(crate) fn new(
        principal: &Principal,
        scope: KeyScope<'_>,
        text: String,
        tool: &str,
        arguments: &Value,
    ) -> Result<Self, String> {
        if text.is_empty() || text.len() > MOST {
            return Err(format!("an idempotency key has 1 to {MOST} bytes, and this one has {}", text.len()));
        }
        let scope: [&str; 3] = match scope {
            KeyScope::Meta => ["meta", "", ""],
            KeyScope::Argument { tool, argument } => ["argument", tool, argument],
        };
        let [of, in_tool, argument] = scope;
        let name = hex([principal.as_str(), of, in_tool, argument, &text].map(str::as_bytes));
        let record = Key::new(format!("{PREFIX}/{name}")).map_err(|error: InvalidKey| error.to_string())?;
        let call = hex([tool.as_bytes(), &digest(arguments)]);
        Ok(Self { text, principal: principal.clone(), record, call })
    }
}

fn hex<const N: usize>(parts: [&[u8]; N]) -> String {
    let mut sha = Sha256::new();
    for part in parts {
        sha.update((part.len() as u64).to_le_bytes());
        sha.update(part);
    }
    HEXLOWER.encode(&sha.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_key_is_its_principals_and_of_its_scope() {
        let (ann, bob) = (Principal::from_source("key", "ann"), Principal::from_source("key", "bob"));
        let key = |who, scope, text: &str, tool, value| CallKey::new(who, scope, text.into(), tool, value).unwrap();
        let (one, other) = (json!({"a": 1, "b": 2}), json!({"a": 1}));
        let of = |scope| key(&ann, scope, "k", "t", &one);
        let mine = of(KeyScope::Meta);
        assert_eq!(mine.record, key(&ann, KeyScope::Meta, "k", "u", &other).record, "whatever is called");
        let same: Value = serde_json::from_str(r#"{"b":2,"a":1}"#).unwrap();
        assert_eq!(mine.call, key(&ann, KeyScope::Meta, "k", "t", &same).call);
        assert_ne!(mine.call, key(&ann, KeyScope::Meta, "k", "t", &other).call);
        assert_ne!(mine.call, key(&ann, KeyScope::Meta, "k", "u", &one).call);
        for different in [
            key(&bob, KeyScope::Meta, "k", "t", &one),
            key(&ann, KeyScope::Meta, "k2", "t", &one),
            of(KeyScope::Argument { tool: "t", argument: "a" }),
            of(KeyScope::Argument { tool: "t", argument: "b" }),
            of(KeyScope::Argument { tool: "ta", argument: "" }),
        ] {
            assert_ne!(mine.record, different.record);
        }
        for bad in ["", &"x".repeat(257)] {
            assert!(CallKey::new(&ann, KeyScope::Meta, bad.into(), "t", &one).is_err());
        }
        CallKey::new(&ann, KeyScope::Meta, "x".repeat(256), "t", &one).unwrap();
    }
}
