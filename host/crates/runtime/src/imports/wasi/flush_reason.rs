//! When a program's output is sent.

/// What the guest does, and what is sent then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FlushReason {
    /// Whole lines.
    Writes,
    /// Everything, since it may wait for long.
    Waits,
    /// Everything.
    Ends,
}
