//! The resources that one call used.

use std::time::Duration;

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ResourceUsage {
    /// Units of fuel, if the call is metered by fuel.
    pub fuel: Option<u64>,
    pub cpu: Duration,
    pub wall: Duration,
    /// Peak linear memory, in bytes.
    pub memory: u64,
    pub chunks: u64,
    /// Bytes of the chunks and the result.
    pub output: u64,
}
