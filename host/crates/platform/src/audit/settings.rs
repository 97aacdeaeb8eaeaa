//! `[server.audit]`: where records go, and how many stay.

use bytesize::ByteSize;
use serde::Deserialize;
use std::num::NonZeroU32;
use std::path::PathBuf;

/// What of a call's arguments is kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KeepArguments {
    /// A hash: two calls can be compared, and what was said cannot be read.
    #[default]
    Digest,
    /// The text too.
    Full,
}

/// How the journal is kept.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct AuditSettings {
    /// Whether nothing is recorded at all.
    pub off: bool,
    /// The folder of the journal; none: `audit` in the folder for state.
    pub folder: Option<PathBuf>,
    /// What of a call's arguments is kept.
    pub arguments: KeepArguments,
    /// Whether calls are refused while records cannot be kept.
    pub required: bool,
    /// A file that is larger is closed and the next one begun. Bounds what must be read to go on after a start.
    pub max_size: ByteSize,
    /// Closed files that stay. Bounds the disk that records take: this times `max-size`.
    pub keep: NonZeroU32,
}

impl Default for AuditSettings {
    fn default() -> Self {
        Self {
            off: false,
            folder: None,
            arguments: KeepArguments::Digest,
            required: false,
            max_size: ByteSize::mib(64),
            keep: NonZeroU32::new(16).unwrap_or(NonZeroU32::MIN),
        }
    }
}
