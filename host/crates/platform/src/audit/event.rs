//! What can be decided. A new kind of decision is a new variant, and the compiler names whoever must know it.

use super::settings::KeepArguments;
use policy::{Denial, Digest};
use serde_json::{Map, Value, json};
use std::time::Duration;

/// The longest text of one field, in bytes: guests and clients choose some of them. Bounds what one record takes.
const MAX_TEXT: usize = 1 << 10;
/// Arguments that are kept in full, in bytes; of longer ones the beginning.
const MAX_ARGUMENTS: usize = 64 << 10;

/// A decision.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "each variant's sentence says what its fields are")]
pub enum Event {
    /// A plugin was installed, updated, staged, accepted, enabled, disabled or removed: `what`.
    Install { what: &'static str, reference: String, digest: Digest, signer: Option<String> },
    /// An operator gave or took: one line of TOML.
    Grant { given: bool, line: String },
    /// A plugin was refused something.
    Denial { capability: &'static str, target: String, reason: &'static str },
    /// A request was sent to another server, and this came of it.
    Request { request: String, address: Option<String>, status: Option<u16>, bytes: u64 },
    /// A secret was told to a host.
    Secret { name: String, host: String },
    /// A tool of the agent's was called by this lane, or was not, for this reason.
    ReverseCall { tool: String, lane: &'static str, outcome: &'static str },
    /// The user or the model was asked something of this kind, and answered so.
    Question { kind: &'static str, outcome: &'static str },
    /// A call ended so. `denials` counts all of them, recorded or not.
    Verdict { tool: String, outcome: &'static str, arguments: Option<Arguments>, denials: u64, cost: Cost },
    /// The journal says something about itself.
    Journal(Upkeep),
}

/// What a journal has to say about itself.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "each variant's sentence says what its fields are")]
pub enum Upkeep {
    /// So many records could not be kept.
    Gap { records: u64 },
    /// The last line was incomplete, as a crash leaves it, and was taken off: so many bytes, with this hash.
    Repaired { bytes: u64, digest: String },
    /// The end of the file is not the one that was noted: the chain goes on after the noted one.
    Damaged { noted: u64, found: u64 },
    /// An old file was removed, to keep as many as configured: with it everything up to this number.
    Removed { file: String, through: u64 },
}

/// What is kept of a call's arguments.
#[derive(Debug, Clone, PartialEq)]
pub struct Arguments {
    /// SHA-256 of the JSON text.
    pub digest: Digest,
    /// The text, where the operator wants it; cut off when it is long.
    pub text: Option<String>,
}

impl Arguments {
    /// Of a JSON text.
    pub fn of(text: &str, keep: KeepArguments) -> Self {
        let text_kept = match keep {
            KeepArguments::Digest => None,
            KeepArguments::Full => Some(cut(text, MAX_ARGUMENTS)),
        };
        Self { digest: Digest::of(text.as_bytes()), text: text_kept }
    }
}

/// What a call used.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Cost {
    /// Units, under fuel metering.
    pub fuel: Option<u64>,
    /// Time on a CPU.
    pub cpu: Duration,
    /// From begin to end.
    pub wall: Duration,
    /// Highest linear memory, in bytes.
    pub memory: u64,
    /// Chunks sent.
    pub chunks: u64,
    /// Bytes of chunks and result.
    pub output: u64,
}

impl Event {
    /// The kind's name in a record.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Install { .. } => "install",
            Self::Grant { .. } => "grant",
            Self::Denial { .. } => "denial",
            Self::Request { .. } => "request",
            Self::Secret { .. } => "secret",
            Self::ReverseCall { .. } => "reverse-call",
            Self::Question { .. } => "question",
            Self::Verdict { .. } => "verdict",
            Self::Journal(_) => "journal",
        }
    }

    /// What is kept of it, in order.
    pub(super) fn fields(&self) -> Map<String, Value> {
        let fields = match self {
            Self::Install { what, reference, digest, signer } => {
                json!({"what": what, "reference": short(reference), "component": digest, "signer": signer})
            }
            Self::Grant { given, line } => json!({"given": given, "line": short(line)}),
            Self::Denial { capability, target, reason } => {
                json!({"capability": capability, "target": short(target), "reason": reason})
            }
            Self::Request { request, address, status, bytes } => {
                json!({"request": short(request), "address": address, "status": status, "bytes": bytes})
            }
            Self::Secret { name, host } => json!({"name": short(name), "host": short(host)}),
            Self::ReverseCall { tool, lane, outcome } => {
                json!({"tool": short(tool), "lane": lane, "outcome": outcome})
            }
            Self::Question { kind, outcome } => json!({"kind": kind, "outcome": outcome}),
            Self::Verdict { tool, outcome, arguments, denials, cost } => {
                let mut fields = json!({"tool": short(tool), "outcome": outcome});
                if let Some(Arguments { digest, text }) = arguments {
                    fields["arguments"] = json!(digest);
                    if let Some(text) = text {
                        fields["argumentsText"] = json!(text);
                    }
                }
                fields["denials"] = json!(denials);
                if let Some(fuel) = cost.fuel {
                    fields["fuel"] = json!(fuel);
                }
                fields["cpuMicros"] = json!(micros(cost.cpu));
                fields["wallMicros"] = json!(micros(cost.wall));
                fields["memoryBytes"] = json!(cost.memory);
                fields["chunks"] = json!(cost.chunks);
                fields["outputBytes"] = json!(cost.output);
                fields
            }
            Self::Journal(Upkeep::Gap { records }) => json!({"what": "gap", "records": records}),
            Self::Journal(Upkeep::Repaired { bytes, digest }) => {
                json!({"what": "repaired", "bytes": bytes, "torn": digest})
            }
            Self::Journal(Upkeep::Damaged { noted, found }) => {
                json!({"what": "damaged", "noted": noted, "found": found})
            }
            Self::Journal(Upkeep::Removed { file, through }) => {
                json!({"what": "removed", "file": file, "through": through})
            }
        };
        match fields {
            Value::Object(mut fields) => {
                fields.retain(|_, value| !value.is_null());
                fields
            }
            _ => Map::new(),
        }
    }
}

impl From<&Denial> for Event {
    fn from(denial: &Denial) -> Self {
        Self::Denial {
            capability: denial.capability.key(),
            target: short(denial.capability.target()),
            reason: denial.reason,
        }
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

fn short(text: &str) -> String {
    cut(text, MAX_TEXT)
}

/// The beginning of a text, of which it says that it is one.
fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    format!("{}...", &text[..text.floor_char_boundary(most)])
}
