//! The services that the server needs besides guests and the protocol: clock, telemetry, audit, storage, outbound HTTP,
//! secrets, identity and confinement.

pub mod audit;
pub mod changes;
pub mod clock;
pub mod confine;
pub mod durable;
pub mod file_descriptors;
pub mod files;
pub mod folder;
pub mod folder_events;
pub mod identity;
pub mod outbound;
pub mod programs;
pub mod random;
pub mod secrets;
pub mod session_log;
pub mod signals;
pub mod standard_streams;
pub mod storage;
pub mod sync;
pub mod telemetry;
pub mod text;
