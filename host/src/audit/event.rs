//! What can be decided. A new kind of decision is a new variant, and the compiler names whoever must know it.

use crate::policy::{Denial, Digest};
use std::time::Duration;

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
    ReverseCall { tool: String, lane: &'static str, outcome: String },
    /// The user or the model was asked something of this kind, and answered so.
    Question { kind: &'static str, outcome: String },
    /// A call ended so.
    Verdict { tool: String, outcome: String, cost: Cost },
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
}

impl From<&Denial> for Event {
    fn from(denial: &Denial) -> Self {
        Self::Denial {
            capability: denial.capability.key(),
            target: denial.capability.target().to_owned(),
            reason: denial.reason,
        }
    }
}
