//! The kinds of records, and which of them are kept longer.

use serde::{Deserialize, Serialize};

/// The field `event` of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EventKind {
    Install,
    Grant,
    Denial,
    HttpRequest,
    SecretUsed,
    ReverseCall,
    Question,
    Verdict,
    Journal,
}

/// What kinds have in common when records are removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum RecordClass {
    /// Authority was used, refused or changed.
    Decision,
    /// A call ended.
    Call,
    /// Something happened to the journal.
    Journal,
}

impl EventKind {
    pub(super) fn class(self) -> RecordClass {
        match self {
            Self::Install
            | Self::Grant
            | Self::Denial
            | Self::HttpRequest
            | Self::SecretUsed
            | Self::ReverseCall
            | Self::Question => RecordClass::Decision,
            Self::Verdict => RecordClass::Call,
            Self::Journal => RecordClass::Journal,
        }
    }
}

impl RecordClass {
    /// How many times the bytes of calls a principal may have in records of this class.
    pub(super) fn weight(self) -> u64 {
        match self {
            Self::Decision => 4,
            Self::Call | Self::Journal => 1,
        }
    }
}
