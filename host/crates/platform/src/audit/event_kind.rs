//! The kinds of records, and which of them are kept for longer.

use serde::{Deserialize, Serialize};

/// The value of a record's field `event`.
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
    /// Something happened to the log itself, which records call by its former name.
    #[serde(rename = "journal")]
    Log,
}

/// The groups of kinds that are treated alike when records are removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum RecordClass {
    /// Authority was used, refused or changed.
    Decision,
    /// A call ended.
    Call,
    /// Something happened to the log.
    Log,
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
            Self::Log => RecordClass::Log,
        }
    }
}

impl RecordClass {
    /// A principal may have this many times as many bytes in records of this class as in records of calls.
    pub(super) fn weight(self) -> u64 {
        match self {
            Self::Decision => 4,
            Self::Call | Self::Log => 1,
        }
    }
}
