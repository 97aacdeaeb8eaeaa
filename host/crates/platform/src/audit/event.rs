//! The events that are recorded. A new kind of decision is a new variant, and the compiler finds all code that must handle it.

use super::event_kind::EventKind;
use super::fields::LineFields;
use super::hash::Hash;
use super::settings::KeepArguments;
use crate::telemetry::ResourceUsage;
use crate::text::truncate_with;
use policy::{Denial, Digest};
use serde::ser::SerializeMap;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

/// Longest text of one field, in bytes. Bounds the size of a record, because guests and clients choose some texts.
const MAX_TEXT: usize = 1 << 10;
/// Longest text for the target of a denial, in bytes. A guest chooses it.
const MAX_TARGET: usize = 200;
/// Longest arguments that are recorded in full, in bytes; longer ones are cut.
const MAX_ARGUMENTS: usize = 64 << 10;

/// The lane of a reverse call that was refused before it had one.
pub const NO_LANE: &str = "none";

#[derive(Debug, Clone, PartialEq)]
pub enum AuditEvent {
    /// A plugin was installed, updated, staged, accepted, enabled, disabled or removed, as `what` says.
    Install { what: &'static str, reference: String, digest: Digest, signer: Option<String> },
    /// An operator added or removed a grant, which is one line of TOML, or confirmed all grants for running servers.
    Grant { given: bool, line: String },
    /// A plugin's use of a capability was denied.
    Denial { capability: &'static str, target: String, reason: &'static str },
    /// A plugin sent an HTTP request.
    HttpRequest { request: String, address: Option<String>, status: Option<u16>, bytes: u64 },
    /// A secret was sent to a host.
    SecretUsed { name: String, host: String },
    /// A plugin called a tool of the agent, or was refused to call it.
    ReverseCall { tool: String, lane: &'static str, outcome: &'static str },
    /// The user or the model was asked a question.
    Question { kind: &'static str, outcome: &'static str },
    /// A call ended. `denials` counts all denials, including those without a record.
    Verdict {
        tool: Arc<str>,
        outcome: &'static str,
        arguments: Option<RecordedArguments>,
        denials: u64,
        cost: ResourceUsage,
    },
    /// Something happened to the log itself.
    Log(AuditLogEvent),
}

/// What happened to the log itself.
#[derive(Debug, Clone, PartialEq)]
pub enum AuditLogEvent {
    /// Records were lost; `decisions` counts those of them that were decisions.
    Gap { records: u64, decisions: u64 },
    /// The last line was incomplete, as after a crash, and was removed.
    Repaired { bytes: u64, digest: String },
    /// The file does not end with the noted head. The chain continues after the noted head.
    Damaged { noted: u64, found: u64 },
    /// Old files up to and including `file` were removed, with all records up to `through`. The archive has those that are
    /// kept.
    Removed { file: String, through: u64, archived: Archived },
}

/// What happened to the records of a removed file and of the archive before it.
#[derive(Debug, Clone, PartialEq)]
pub struct Archived {
    /// The hash of the archive's bytes.
    pub hash: Hash,
    /// Number of calls that are not kept.
    pub calls: u64,
    /// Number of decisions that are not kept.
    pub decisions: u64,
    /// The principal that lost the most bytes, if somebody lost any.
    pub most_of: Option<String>,
}

/// What is recorded of a call's arguments.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedArguments {
    /// SHA-256 of the JSON text.
    pub digest: Digest,
    /// The JSON text if the operator wants it; a long one is cut.
    pub text: Option<String>,
}

impl RecordedArguments {
    pub fn new(text: &str, keep: KeepArguments) -> Self {
        let text_kept = match keep {
            KeepArguments::Digest => None,
            KeepArguments::Full => Some(truncate_with(text, MAX_ARGUMENTS, "...")),
        };
        Self { digest: Digest::sha256(text.as_bytes()), text: text_kept }
    }
}

impl AuditEvent {
    /// The event for an operator's change that was recorded but could not be made.
    pub(super) fn not_made(self) -> Option<Self> {
        match self {
            Self::Install { reference, digest, signer, .. } => {
                Some(Self::Install { what: "not saved", reference, digest, signer })
            }
            Self::Grant { given, line } => Some(Self::Grant { given: !given, line }),
            _ => None,
        }
    }

    /// Whether a plugin tried something that it may not do. No budget limits how often it tries.
    pub(super) fn is_refusal(&self) -> bool {
        match self {
            Self::Denial { .. } => true,
            Self::ReverseCall { lane, .. } => *lane == NO_LANE,
            Self::Install { .. }
            | Self::Grant { .. }
            | Self::HttpRequest { .. }
            | Self::SecretUsed { .. }
            | Self::Question { .. }
            | Self::Verdict { .. }
            | Self::Log(_) => false,
        }
    }

    /// The value of the record's field `event`.
    pub fn kind(&self) -> EventKind {
        match self {
            Self::Install { .. } => EventKind::Install,
            Self::Grant { .. } => EventKind::Grant,
            Self::Denial { .. } => EventKind::Denial,
            Self::HttpRequest { .. } => EventKind::HttpRequest,
            Self::SecretUsed { .. } => EventKind::SecretUsed,
            Self::ReverseCall { .. } => EventKind::ReverseCall,
            Self::Question { .. } => EventKind::Question,
            Self::Verdict { .. } => EventKind::Verdict,
            Self::Log(_) => EventKind::Log,
        }
    }

    /// Adds the record's other fields, in order.
    pub(super) fn add_fields<M: SerializeMap>(&self, line: &mut LineFields<M>) -> Result<(), M::Error> {
        match self {
            Self::Install { what, reference, digest, signer } => {
                line.add("what", what)?;
                line.add("reference", &*short(reference))?;
                line.add("component", digest)?;
                line.add_some("signer", signer.as_ref())
            }
            Self::Grant { given, line: text } => {
                line.add("given", given)?;
                line.add("line", &*short(text))
            }
            Self::Denial { capability, target, reason } => {
                line.add("capability", capability)?;
                line.add("target", &*short(target))?;
                line.add("reason", reason)
            }
            Self::HttpRequest { request, address, status, bytes } => {
                line.add("request", &*short(request))?;
                line.add_some("address", address.as_ref())?;
                line.add_some("status", *status)?;
                line.add("bytes", bytes)
            }
            Self::SecretUsed { name, host } => {
                line.add("name", &*short(name))?;
                line.add("host", &*short(host))
            }
            Self::ReverseCall { tool, lane, outcome } => {
                line.add("tool", &*short(tool))?;
                line.add("lane", lane)?;
                line.add("outcome", outcome)
            }
            Self::Question { kind, outcome } => {
                line.add("kind", kind)?;
                line.add("outcome", outcome)
            }
            Self::Verdict { tool, outcome, arguments, denials, cost } => {
                line.add("tool", &*short(tool))?;
                line.add("outcome", outcome)?;
                if let Some(RecordedArguments { digest, text }) = arguments {
                    line.add("arguments", digest)?;
                    line.add_some("argumentsText", text.as_ref())?;
                }
                line.add("denials", denials)?;
                line.add_some("fuel", cost.fuel)?;
                line.add("cpuMicros", &micros(cost.cpu))?;
                line.add("wallMicros", &micros(cost.wall))?;
                line.add("memoryBytes", &cost.memory)?;
                line.add("chunks", &cost.chunks)?;
                line.add("outputBytes", &cost.output)
            }
            Self::Log(AuditLogEvent::Gap { records, decisions }) => {
                line.add("what", "gap")?;
                line.add("records", records)?;
                line.add("decisions", decisions)
            }
            Self::Log(AuditLogEvent::Repaired { bytes, digest }) => {
                line.add("what", "repaired")?;
                line.add("bytes", bytes)?;
                line.add("torn", digest)
            }
            Self::Log(AuditLogEvent::Damaged { noted, found }) => {
                line.add("what", "damaged")?;
                line.add("noted", noted)?;
                line.add("found", found)
            }
            Self::Log(AuditLogEvent::Removed { file, through, archived }) => {
                line.add("what", "removed")?;
                line.add("file", file)?;
                line.add("through", through)?;
                let Archived { hash, calls, decisions, most_of } = archived;
                line.add_shown("archive", hash)?;
                line.add("calls", calls)?;
                line.add("decisions", decisions)?;
                line.add_some("mostOf", most_of.as_deref().map(short))
            }
        }
    }
}

impl From<&Denial> for AuditEvent {
    fn from(denial: &Denial) -> Self {
        Self::Denial {
            capability: denial.capability,
            target: truncate_with(&denial.target, MAX_TARGET, "..."),
            reason: denial.reason,
        }
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

fn short(text: &str) -> Cow<'_, str> {
    if text.len() <= MAX_TEXT { text.into() } else { truncate_with(text, MAX_TEXT, "...").into() }
}
