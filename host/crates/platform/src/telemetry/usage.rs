//! What one call used.

use std::time::Duration;

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ResourceUsage {
    /// Units, under fuel metering.
    pub fuel: Option<u64>,
    pub cpu: Duration,
    pub wall: Duration,
    /// Peak linear memory, in bytes.
    pub memory: u64,
    pub chunks: u64,
    /// Bytes of chunks and result.
    pub output: u64,
}
