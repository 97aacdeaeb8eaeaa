//! What is recorded. A new kind of decision is a new variant, and the compiler finds the code that must handle it.

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

/// Longest text of one field, in bytes. Guests and clients choose some texts; this bounds the size of a record.
const MAX_TEXT: usize = 1 << 10;
/// The same of what was denied, which a guest chooses.
const MAX_TARGET: usize = 200;
/// Longest arguments that are recorded in full, in bytes; of longer ones only the beginning.
const MAX_ARGUMENTS: usize = 64 << 10;

/// The lane of a reverse call that was refused before it took one.
pub const NO_LANE: &str = "none";

#[derive(Debug, Clone, PartialEq)]
pub enum AuditEvent {
    /// A plugin was installed, updated, staged, accepted, enabled, disabled or removed, as `what` says.
    Install { what: &'static str, reference: String, digest: Digest, signer: Option<String> },
    /// An operator added or removed a grant: one line of TOML. Or confirmed all grants for running servers.
    Grant { given: bool, line: String },
    /// A plugin's use of a capability was denied.
    Denial { capability: &'static str, target: String, reason: &'static str },
    /// A plugin sent an HTTP request.
    HttpRequest { request: String, address: Option<String>, status: Option<u16>, bytes: u64 },
    /// A secret was sent to a host.
    SecretUsed { name: String, host: String },
    /// A plugin called, or was refused to call, a tool of the agent.
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
    /// Something happened to the journal itself.
    Journal(JournalEvent),
}

/// What happened to the journal itself.
#[derive(Debug, Clone, PartialEq)]
pub enum JournalEvent {
    /// Records were lost, so many of them decisions.
    Gap { records: u64, decisions: u64 },
    /// The last line was incomplete, as a crash leaves it, and was removed.
    Repaired { bytes: u64, digest: String },
    /// The end of the file is not the noted head; the chain continues after the noted head.
    Damaged { noted: u64, found: u64 },
    /// Old files, this one the last, were removed with all records up to `through`; the archive has those that are kept.
    Removed { file: String, through: u64, archived: Archived },
}

/// What happened to the records of a removed file and of the archive before it.
#[derive(Debug, Clone, PartialEq)]
pub struct Archived {
    /// Of the archive's bytes.
    pub hash: Hash,
    /// Calls that are not kept.
    pub calls: u64,
    /// Decisions that are not kept.
    pub decisions: u64,
    /// The principal that lost the most bytes, if somebody lost any.
    pub most_of: Option<String>,
}

/// What is recorded of a call's arguments.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedArguments {
    /// SHA-256 of the JSON text.
    pub digest: Digest,
    /// The text, if the operator wants it; truncated if it is long.
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
    /// For a change of the operator's that was recorded and could not be made.
    pub(super) fn not_made(self) -> Option<Self> {
        match self {
            Self::Install { reference, digest, signer, .. } => {
                Some(Self::Install { what: "not saved", reference, digest, signer })
            }
            Self::Grant { given, line } => Some(Self::Grant { given: !given, line }),
            _ => None,
        }
    }

    /// Whether a plugin tried what it may not do. It may do so as often as it likes: no budget counts it.
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
            | Self::Journal(_) => false,
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
            Self::Journal(_) => EventKind::Journal,
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
            Self::Journal(JournalEvent::Gap { records, decisions }) => {
                line.add("what", "gap")?;
                line.add("records", records)?;
                line.add("decisions", decisions)
            }
            Self::Journal(JournalEvent::Repaired { bytes, digest }) => {
                line.add("what", "repaired")?;
                line.add("bytes", bytes)?;
                line.add("torn", digest)
            }
            Self::Journal(JournalEvent::Damaged { noted, found }) => {
                line.add("what", "damaged")?;
                line.add("noted", noted)?;
                line.add("found", found)
            }
            Self::Journal(JournalEvent::Removed { file, through, archived }) => {
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
            capability: denial.capability.key(),
            target: truncate_with(denial.capability.target(), MAX_TARGET, "..."),
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
