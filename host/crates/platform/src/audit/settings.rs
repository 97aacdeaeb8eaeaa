//! The section `[server.audit]`: where records are stored, and how many are retained.

use bytesize::ByteSize;
use serde::Deserialize;
use std::num::NonZeroU32;
use std::path::PathBuf;

/// How much of a call's arguments is recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KeepArguments {
    /// A hash: calls can be compared, but arguments cannot be read.
    #[default]
    Digest,
    Full,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct AuditSettings {
    pub off: bool,
    /// The folder of the log; default: `audit` in the state folder.
    pub folder: Option<PathBuf>,
    /// How much of a call's arguments is recorded.
    pub arguments: KeepArguments,
    /// Whether calls are refused while their records cannot be stored.
    pub required: bool,
    /// A file that has become larger is closed and the next one is started. Bounds the size of a file, and of the archive.
    pub max_size: ByteSize,
    /// Number of closed files that are retained. Bounds the disk space of records: `max-size` times this number plus three (for
    /// the current file, the archive and its successor).
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
