//! Ceilings on calls that wait for their clients.

use bytesize::ByteSize;
use serde::Deserialize;

/// What may wait at once.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct ParkingLimits {
    /// Calls in all, parked ones and, apart from them, legacy ones that wait on their own streams. Bounds instances that
    /// wait for clients which never come back.
    pub calls: usize,
    /// Calls of one principal. Bounds what one of them takes from the others.
    pub per_principal: usize,
    /// Linear memory of those that are parked. Bounds what waiting costs.
    pub memory: ByteSize,
}

impl Default for ParkingLimits {
    fn default() -> Self {
        Self { calls: 1_000, per_principal: 250, memory: ByteSize::gib(1) }
    }
}
