//! The beginning and the end of what a program wrote: a table begins with its head, and a report ends with the reason.

use std::collections::VecDeque;

pub(super) struct Excerpt {
    half: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    written: u64,
}

impl Excerpt {
    /// Keeps about `bytes` bytes.
    pub(super) fn new(bytes: u64) -> Self {
        let half = usize::try_from(bytes / 2).unwrap_or(usize::MAX);
        Self { half, head: Vec::new(), tail: VecDeque::new(), written: 0 }
    }

    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.written = self.written.saturating_add(bytes.len() as u64);
        let (head, rest) = bytes.split_at(bytes.len().min(self.half - self.head.len()));
        self.head.extend_from_slice(head);
        let end = &rest[rest.len().saturating_sub(self.half)..];
        self.tail.drain(..(self.tail.len() + end.len()).saturating_sub(self.half));
        self.tail.extend(end);
    }

    pub(super) fn held_bytes(&self) -> u64 {
        (self.head.len() + self.tail.len()) as u64
    }

    /// Text with a remark where something is left out, and how many bytes are left out. Invalid UTF-8 is replaced.
    pub(super) fn into_text(mut self) -> (String, u64) {
        let dropped = self.written - self.held_bytes();
        if dropped == 0 {
            self.head.extend(self.tail);
            return (String::from_utf8_lossy(&self.head).into_owned(), 0);
        }
        let begun = self.tail.iter().take(3).take_while(|byte| matches!(byte, 0x80..=0xBF)).count();
        let tail: Vec<u8> = self.tail.into_iter().skip(begun).collect();
        let incomplete = self.head.utf8_chunks().last().map_or(0, |last| match std::str::from_utf8(last.invalid()) {
            Err(error) if error.error_len().is_none() => last.invalid().len(),
            _ => 0,
        });
        self.head.truncate(self.head.len() - incomplete);
        let dropped = dropped + (begun + incomplete) as u64;
        let (head, tail) = (String::from_utf8_lossy(&self.head), String::from_utf8_lossy(&tail));
        (format!("{head}\n[{dropped} bytes are left out here]\n{tail}"), dropped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: u64, pieces: &[&str]) -> (String, u64) {
        let mut excerpt = Excerpt::new(bytes);
        for piece in pieces {
            excerpt.add(piece.as_bytes());
        }
        assert!(excerpt.held_bytes() <= bytes);
        excerpt.into_text()
    }

    #[test]
    fn what_is_left_out_is_said() {
        assert_eq!(text(8, &["1234", "5", "678"]), ("12345678".into(), 0));
        assert_eq!(text(8, &["123456789"]), ("1234\n[1 bytes are left out here]\n6789".into(), 1));
        assert_eq!(text(8, &["1234", "5678", "9", "0", ""]), ("1234\n[2 bytes are left out here]\n7890".into(), 2));
        assert_eq!(text(0, &["12", ""]), ("\n[2 bytes are left out here]\n".into(), 2));
        assert_eq!(text(1, &[]), (String::new(), 0));
        // Characters that would be divided are left out whole.
        assert_eq!(text(8, &["123é5678é90é"]), ("123\n[8 bytes are left out here]\n90é".into(), 8));
    }
}
