//! One line of the log: JSON whose last field is the hash of everything before it.
//!
//! The hash is SHA-256 over the bytes of the line without its field `hash`, so no canonical JSON is needed:
//! `sed -E 's/,"hash":"[0-9a-f]{64}"//' | tr -d '\n' | sha256sum` computes it from a line.

use super::fields::LineFields;
use super::hash::{DIGITS, Hash};
use super::record::AuditRecord;
use crate::telemetry::escape_json;
use serde::ser::{self, Serialize};
use serde_json::ser::{Formatter, Serializer};
use serde_json::{Map, Value};
use std::fmt;
use std::io::{self, Write};
use std::str::FromStr;
use std::time::{Duration, UNIX_EPOCH};

/// The text between the hashed part of a line and its hash.
const MARK: &str = ",\"hash\":\"";
/// Bytes that are enough for most lines.
pub(super) const LINE_CAPACITY: usize = 768;
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

/// Appends the line of a record that follows `head`, with the line feed; returns the new head.
pub(super) fn encode(record: &AuditRecord, unix: Duration, head: Head, out: &mut Vec<u8>) -> Head {
    let (seq, begin) = (head.seq + 1, out.len());
    let fields = Line { seq, unix, record, prev: head.hash };
    // Cannot fail: a map of texts and numbers can always be written to memory.
    let _ = fields.serialize(&mut Serializer::with_formatter(&mut *out, SafeToShow));
    let hash = Hash::compute(&[&out[begin..]]);
    // Removes the closing brace.
    out.pop();
    let _ = writeln!(out, "{MARK}{hash}\"}}");
    Head { seq, hash }
}

/// Escapes characters that could control the terminal of a person who looks at the file.
struct SafeToShow;

impl Formatter for SafeToShow {
    fn write_string_fragment<W: Write + ?Sized>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        writer.write_all(escape_json(fragment).as_bytes())
    }
}

/// The hashed part of a line.
struct Line<'a> {
    seq: u64,
    unix: Duration,
    record: &'a AuditRecord,
    prev: Hash,
}

impl Serialize for Line<'_> {
    fn serialize<S: ser::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let AuditRecord { principal, plugin, digest, call, parent, event } = self.record;
        let mut line = LineFields::new(serializer.serialize_map(None)?);
        line.add("seq", &self.seq)?;
        line.add_shown("time", humantime::format_rfc3339_millis(UNIX_EPOCH + self.unix))?;
        line.add("event", &event.kind())?;
        line.add_some("principal", principal.as_ref().map(|principal| principal.as_str()))?;
        if let Some(plugin) = plugin {
            line.add_shown("plugin", plugin)?;
        }
        line.add_some("digest", digest.as_ref())?;
        line.add_some("call", call.as_deref())?;
        line.add_some("parent", parent.as_deref())?;
        event.add_fields(&mut line)?;
        line.add_shown("prev", self.prev)?;
        line.end()
    }
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
    if Hash::compute(&[body.as_bytes(), b"}"]) != hash {
        return None;
    }
    let fields: Map<String, Value> = serde_json::from_str(text).ok()?;
    let seq = fields.get("seq")?.as_u64()?;
    let prev = fields.get("prev")?.as_str()?.parse().ok()?;
    Some(ValidLine { head: Head { seq, hash }, prev, fields })
}

/// The sequence number in a line, whether or not the line is valid.
pub(super) fn claimed_seq(text: &str) -> Option<u64> {
    text.strip_prefix("{\"seq\":")?.split(',').next()?.parse().ok()
}
