//! A line that has no end yet, as the session log keeps it.

/// A line up to this many bytes is kept as a whole. Bounds the memory for a line that never ends.
pub(super) const MAX_WHOLE: usize = 1 << 20;
/// Bytes of a longer line that are kept at its beginning and at its end, where its id is looked for.
pub(super) const MAX_BEGIN: usize = 1 << 10;
pub(super) const MAX_END: usize = 256;

#[derive(Debug, Default, PartialEq)]
pub(super) struct PartialLine {
    /// The whole line so far, if `end` is none.
    pub(super) begin: Vec<u8>,
    /// The end of what was read of a line that is too long to be kept as a whole.
    pub(super) end: Option<Vec<u8>>,
}

impl PartialLine {
    /// Adds what was read next.
    pub(super) fn extend(&mut self, bytes: &[u8]) {
        if self.end.is_none() && self.begin.len() + bytes.len() <= MAX_WHOLE {
            self.begin.extend_from_slice(bytes);
            return;
        }
        let end = self.end.get_or_insert_default();
        if end.is_empty() {
            end.extend_from_slice(&self.begin[self.begin.len().saturating_sub(MAX_END)..]);
            self.begin.extend_from_slice(&bytes[..bytes.len().min(MAX_BEGIN)]);
            self.begin.truncate(MAX_BEGIN);
        }
        end.extend_from_slice(&bytes[bytes.len().saturating_sub(MAX_END)..]);
        end.drain(..end.len().saturating_sub(MAX_END));
    }
}
