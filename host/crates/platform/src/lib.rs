//! What the server stands on, and what knows nothing of guests or of the protocol.

pub mod audit;
pub mod changes;
pub mod clock;
pub mod confine;
pub mod identity;
pub mod outbound;
pub mod secrets;
pub mod storage;
pub mod telemetry;
