//! The checkpoints of the fake host.

/// The checkpoints of the running call.
#[derive(Default)]
pub(crate) struct Checkpoints {
    pub(crate) is_opened: bool,
    pub(crate) last: Option<Vec<u8>>,
    /// With which the next call begins.
    pub(crate) next: Option<Vec<u8>>,
}

impl Checkpoints {
    /// A call begins.
    pub(crate) fn begin(&mut self) {
        *self = Self { is_opened: false, last: self.next.take(), next: None };
    }
}
