//! Prices of host work in fuel, so that no guest can have the host work for nothing. One unit is about a nanosecond.

/// Any import.
pub const CALL: u64 = 500;
/// One byte that is sent, logged or made, such as a random one.
pub const BYTE: u64 = 2;
/// Bytes that are copied for one unit, when a guest reads or writes through a stream.
pub const COPIED: u64 = 4;
/// Inspecting or changing a file or directory, which switches to another thread and into the kernel.
pub const FILE: u64 = 5_000;
/// Setting up a reverse call, besides what the call itself uses.
pub const REVERSE_CALL: u64 = 20_000;
/// A request to another server: connecting, encrypting, scanning the response.
pub const OUTBOUND: u64 = 50_000;
/// Storing or removing a value: a commit to disk.
pub const KEEP: u64 = 20_000;
/// Asking a question: schemas are compiled, and a call may be parked and resumed.
pub const QUESTION: u64 = 50_000;
