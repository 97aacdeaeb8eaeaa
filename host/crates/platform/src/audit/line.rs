//! One line of the journal: JSON whose last field is the hash of everything before it, byte by byte.
//!
//! The hash is SHA-256 over the line as it would be without its field `hash`, so that nobody needs to agree on how JSON
//! is written: `sed -E 's/,"hash":"[0-9a-f]{64}"//' | tr -d '\n' | sha256sum` of one line gives it.

use super::Record;
use data_encoding::HEXLOWER;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use std::fmt;
use std::str::FromStr;
use std::time::{Duration, UNIX_EPOCH};

/// What stands between the hashed part of a line and its hash.
const MARK: &str = ",\"hash\":\"";
/// Hexadecimal digits of a hash.
const DIGITS: usize = 64;

/// SHA-256 of a line.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Hash([u8; 32]);

impl Hash {
    /// What the first line of all names as the one before it.
    pub const NONE: Self = Self([0; 32]);

    /// Of these bytes.
    pub(super) fn of(parts: &[&str]) -> Self {
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
    /// Counted from 1; 0 for a chain without lines.
    pub seq: u64,
    /// Of the last line.
    pub hash: Hash,
}

impl Head {
    /// Of a chain without lines.
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

/// Puts a record behind `head`: its line, with the line feed, and the new head.
pub(super) fn write(record: &Record, unix: Duration, head: Head) -> (String, Head) {
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
    let hash = Hash::of(&[&text]);
    text.pop();
    text.push_str(MARK);
    text.push_str(&hash.to_string());
    text.push_str("\"}\n");
    (text, Head { seq, hash })
}

/// A line that says the truth about itself.
pub(super) struct Sound {
    /// Its place and its hash.
    pub(super) head: Head,
    /// The hash of the line before it.
    pub(super) prev: Hash,
    /// All fields.
    pub(super) fields: Map<String, Value>,
}

/// Reads a line, without its line feed; none when it is not as it was written.
pub(super) fn read(text: &str) -> Option<Sound> {
    let at = text.len().checked_sub(MARK.len() + DIGITS + 2)?;
    let body = text.get(..at)?;
    let digits = text.get(at..)?.strip_prefix(MARK)?.strip_suffix("\"}")?;
    let hash: Hash = digits.parse().ok()?;
    if Hash::of(&[body, "}"]) != hash {
        return None;
    }
    let fields: Map<String, Value> = serde_json::from_str(text).ok()?;
    let seq = fields.get("seq")?.as_u64()?;
    let prev = fields.get("prev")?.as_str()?.parse().ok()?;
    Some(Sound { head: Head { seq, hash }, prev, fields })
}

/// The number that a line claims to have, whether or not it is sound.
pub(super) fn claimed(text: &str) -> Option<u64> {
    text.strip_prefix("{\"seq\":")?.split(',').next()?.parse().ok()
}
