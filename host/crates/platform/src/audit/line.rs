//! One line of the journal: JSON whose last field is the hash of everything before it.
//!
//! The hash is SHA-256 over the bytes of the line without its field `hash`, so no canonical JSON is needed:
//! `sed -E 's/,"hash":"[0-9a-f]{64}"//' | tr -d '\n' | sha256sum` computes it from a line.

use super::record::AuditRecord;
use data_encoding::HEXLOWER;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use std::fmt;
use std::str::FromStr;
use std::time::{Duration, UNIX_EPOCH};

/// The text between the hashed part of a line and its hash.
const MARK: &str = ",\"hash\":\"";
/// Hexadecimal digits of a hash.
const DIGITS: usize = 64;

#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Hash([u8; 32]);

impl Hash {
    /// The previous hash of the first line.
    pub const NONE: Self = Self([0; 32]);

    pub(super) fn compute(parts: &[&str]) -> Self {
        let mut hasher = Sha256::new();
        for part in parts {
            hasher.update(part.as_bytes());
        }
        Self(hasher.finalize().into())
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

/// Where a chain ends: the number of its last line, and that line's hash. Written `NUMBER:HASH`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// Counted from 1; 0 for an empty chain.
    pub seq: u64,
    pub hash: Hash,
}

impl Head {
    /// The head of an empty chain.
    pub const START: Self = Self { seq: 0, hash: Hash::NONE };
}

impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.seq, self.hash)
    }
}

impl FromStr for Head {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let fail = || format!("`{text}` is not a head: write NUMBER:HASH, as `portcullis audit verify` prints it");
        let (seq, hash) = text.trim().split_once(':').ok_or_else(fail)?;
        Ok(Self { seq: seq.parse().map_err(|_| fail())?, hash: hash.parse()? })
    }
}

/// The line of a record that follows `head`, with the line feed, and the new head.
pub(super) fn encode(record: &AuditRecord, unix: Duration, head: Head) -> (String, Head) {
    let time = humantime::format_rfc3339_millis(UNIX_EPOCH + unix).to_string();
    let seq = head.seq + 1;
    let mut line = Map::new();
    line.insert("seq".into(), json!(seq));
    line.insert("time".into(), json!(time));
    line.insert("event".into(), json!(record.event.kind()));
    let known = [
        ("principal", record.principal.as_ref().map(|principal| json!(principal.as_str()))),
        ("plugin", record.plugin.as_ref().map(|plugin| json!(plugin.to_string()))),
        ("digest", record.digest.as_ref().map(|digest| json!(digest))),
        ("call", record.call.as_ref().map(|call| json!(call))),
        ("parent", record.parent.as_ref().map(|parent| json!(parent))),
    ];
    line.extend(known.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
    line.extend(record.event.fields());
    line.insert("prev".into(), json!(head.hash.to_string()));
    let mut text = Value::Object(line).to_string();
    let hash = Hash::compute(&[&text]);
    text.pop();
    text.push_str(MARK);
    text.push_str(&hash.to_string());
    text.push_str("\"}\n");
    (text, Head { seq, hash })
}

/// A line whose hash is right.
pub(super) struct ValidLine {
    pub(super) head: Head,
    /// The hash of the line before it.
    pub(super) prev: Hash,
    pub(super) fields: Map<String, Value>,
}

/// Parses a line without its line feed; `None` if its hash is wrong.
pub(super) fn decode(text: &str) -> Option<ValidLine> {
    let at = text.len().checked_sub(MARK.len() + DIGITS + 2)?;
    let body = text.get(..at)?;
    let digits = text.get(at..)?.strip_prefix(MARK)?.strip_suffix("\"}")?;
    let hash: Hash = digits.parse().ok()?;
    if Hash::compute(&[body, "}"]) != hash {
        return None;
    }
    let fields: Map<String, Value> = serde_json::from_str(text).ok()?;
    let seq = fields.get("seq")?.as_u64()?;
    let prev = fields.get("prev")?.as_str()?.parse().ok()?;
    Some(ValidLine { head: Head { seq, hash }, prev, fields })
}

/// The sequence number that a line claims, valid or not.
pub(super) fn claimed_seq(text: &str) -> Option<u64> {
    text.strip_prefix("{\"seq\":")?.split(',').next()?.parse().ok()
}
