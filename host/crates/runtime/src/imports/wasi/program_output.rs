//! What a program has written: excerpts for its result, and what is still to be sent as chunks.

use super::super::price;
use super::chunk_pace::ChunkPace;
use super::excerpt::Excerpt;
use super::flush_reason::FlushReason;
use policy::Limits;

/// Bytes of a chunk, unless `limits.chunk` is less. If a program writes more at once, it is divided.
const MAX_PIECE: u64 = 16 << 10;
/// Bytes of the longest character of UTF-8. A character is never divided.
const MAX_CHARACTER: u64 = 4;

/// Divisors of `limits.output`. Chunks may have half of it. The result shows its excerpts twice, as text and as JSON. Bytes
/// that are not text can become three or even six times as long there; even so, the excerpts take less than the other half.
const SENT: u64 = 2;
const SHOWN_OUTPUT: u64 = 32;
const SHOWN_ERRORS: u64 = 128;

pub(super) struct ProgramOutput {
    stdout: Excerpt,
    stderr: Excerpt,
    /// Bytes of stdout for the next chunk.
    unsent: Vec<u8>,
    has_line: bool,
    piece: usize,
    /// Bytes of stdout that may still become chunks.
    sendable: u64,
    pace: ChunkPace,
    /// Fuel for what was written since the last charge.
    unpaid: u64,
}

impl ProgramOutput {
    pub(super) fn new(limits: &Limits) -> Self {
        let output = limits.output.as_u64();
        // A byte that is not UTF-8 becomes three times as long.
        let piece = (limits.chunk.as_u64() / 3).clamp(MAX_CHARACTER, MAX_PIECE);
        Self {
            stdout: Excerpt::new(output / SHOWN_OUTPUT),
            stderr: Excerpt::new(output / SHOWN_ERRORS),
            unsent: Vec::new(),
            has_line: false,
            piece: usize::try_from(piece).unwrap_or(usize::MAX),
            sendable: output / SENT,
            pace: ChunkPace::default(),
            unpaid: 0,
        }
    }

    pub(super) fn write_stdout(&mut self, bytes: &[u8]) {
        self.count(bytes);
        self.stdout.add(bytes);
        match self.sendable.checked_sub(bytes.len() as u64) {
            Some(left) => {
                self.sendable = left;
                self.has_line |= bytes.contains(&b'\n');
                self.unsent.extend_from_slice(bytes);
            }
            None => self.sendable = 0,
        }
    }

    pub(super) fn write_stderr(&mut self, bytes: &[u8]) {
        self.count(bytes);
        self.stderr.add(bytes);
    }

    fn count(&mut self, bytes: &[u8]) {
        // The write itself has been paid for already.
        let price = price::BYTE * bytes.len() as u64;
        self.unpaid = self.unpaid.saturating_add(price);
    }

    pub(super) fn take_unpaid(&mut self) -> u64 {
        std::mem::take(&mut self.unpaid)
    }

    /// Stops sending, because no chunks are accepted any more. What is written is kept only for the result.
    pub(super) fn stop_sending(&mut self) {
        (self.sendable, self.has_line) = (0, false);
        self.unsent = Vec::new();
    }

    /// Whether there is something to send that is less than a full piece. It is sent only if the pace allows it.
    pub(super) fn has_some(&self, flush_reason: FlushReason) -> bool {
        match flush_reason {
            FlushReason::Writes => self.has_line,
            FlushReason::Waits => whole_characters(&self.unsent) > 0,
            FlushReason::Ends => !self.unsent.is_empty(),
        }
    }

    /// Whether the pace allows a chunk.
    pub(super) fn may_send(&mut self, flush_reason: FlushReason, now: u64) -> bool {
        self.pace.take(flush_reason, now)
    }

    /// A full piece, which is sent however little time has passed.
    pub(super) fn take_full(&mut self) -> Option<String> {
        if self.unsent.len() < self.piece {
            return None;
        }
        let whole = whole_characters(&self.unsent[..self.piece]);
        let line = self.unsent[..whole].iter().rposition(|byte| *byte == b'\n');
        Some(self.take(line.map_or(whole, |line| line + 1)))
    }

    /// What can be sent although it is less than a full piece.
    pub(super) fn take_some(&mut self, flush_reason: FlushReason) -> String {
        let end = match flush_reason {
            FlushReason::Writes => self.unsent.iter().rposition(|byte| *byte == b'\n').map_or(0, |line| line + 1),
            FlushReason::Waits => whole_characters(&self.unsent),
            FlushReason::Ends => self.unsent.len(),
        };
        self.take(end)
    }

    fn take(&mut self, end: usize) -> String {
        let rest = self.unsent.split_off(end);
        let taken = std::mem::replace(&mut self.unsent, rest);
        self.has_line = self.unsent.contains(&b'\n');
        String::from_utf8(taken).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    }

    /// Bytes that the host holds.
    pub(super) fn held_bytes(&self) -> u64 {
        self.stdout.held_bytes() + self.stderr.held_bytes() + self.unsent.len() as u64
    }

    /// stdout and stderr.
    pub(super) fn into_excerpts(self) -> (Excerpt, Excerpt) {
        (self.stdout, self.stderr)
    }
}

/// The length without an incomplete character at the end.
fn whole_characters(bytes: &[u8]) -> usize {
    for (from_end, byte) in bytes.iter().rev().take(MAX_CHARACTER as usize).enumerate() {
        let length = match byte {
            // It continues a character.
            0x80..=0xBF => continue,
            0xC2..=0xDF => 2,
            0xE0..=0xEF => 3,
            0xF0..=0xF4 => 4,
            _ => 1,
        };
        return if from_end + 1 < length { bytes.len() - from_end - 1 } else { bytes.len() };
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytesize::ByteSize;

    fn output(limits: Limits) -> ProgramOutput {
        ProgramOutput::new(&limits)
    }

    fn taken(output: &mut ProgramOutput, flush_reason: FlushReason) -> Vec<String> {
        let mut all: Vec<String> = std::iter::from_fn(|| output.take_full()).collect();
        if output.has_some(flush_reason) {
            all.push(output.take_some(flush_reason));
        }
        all
    }

    #[test]
    fn a_chunk_has_whole_lines() {
        let mut output = output(Limits::default());
        output.write_stdout(b"one\ntw");
        assert_eq!(taken(&mut output, FlushReason::Writes), ["one\n"]);
        assert!(!output.has_some(FlushReason::Writes));
        output.write_stdout("o\nthré\u{1F600}".as_bytes());
        output.write_stdout(&"é".as_bytes()[..1]);
        assert_eq!(taken(&mut output, FlushReason::Writes), ["two\n"]);
        assert_eq!(taken(&mut output, FlushReason::Waits), ["thré\u{1F600}"]);
        assert!(!output.has_some(FlushReason::Waits));
        assert_eq!(taken(&mut output, FlushReason::Ends), ["\u{FFFD}"]);
        assert!(!output.has_some(FlushReason::Ends));
    }

    /// However the bytes are written and divided, all chunks together have the same text as all bytes together.
    #[test]
    fn no_character_is_divided() {
        let mut rng = fastrand::Rng::with_seed(7);
        for _ in 0..300 {
            let mut output = output(Limits { chunk: ByteSize::b(rng.u64(1..40)), ..Limits::default() });
            let (mut all, mut sent) = (Vec::new(), String::new());
            for _ in 0..rng.usize(1..60) {
                let piece = match rng.u8(0..4) {
                    0 => rng.choice(["é", "\u{1F600}", "a\n", "日本"]).unwrap_or_default().as_bytes().to_vec(),
                    1 => "\u{1F600}é".as_bytes()[rng.usize(0..3)..].to_vec(),
                    2 => vec![rng.u8(..); rng.usize(0..30)],
                    _ => "\u{1F600}".as_bytes()[..rng.usize(0..4)].to_vec(),
                };
                output.write_stdout(&piece);
                all.extend_from_slice(&piece);
                let flush_reason = if rng.bool() { FlushReason::Writes } else { FlushReason::Waits };
                sent.extend(taken(&mut output, flush_reason));
            }
            sent.extend(taken(&mut output, FlushReason::Ends));
            assert_eq!(sent, String::from_utf8_lossy(&all));
        }
    }

    #[test]
    fn so_much_is_sent_and_no_more() {
        let mut output = output(Limits { output: ByteSize::b(20), ..Limits::default() });
        output.write_stdout(b"12345\n");
        output.write_stdout(b"7890");
        output.write_stdout(b"1\n");
        output.write_stdout(b"");
        assert_eq!(taken(&mut output, FlushReason::Ends), ["12345\n7890"]);
        output.write_stdout(b"more\n");
        assert!(!output.has_some(FlushReason::Ends) && output.take_full().is_none());
        let mut unwanted = self::output(Limits::default());
        unwanted.write_stdout(b"1\n");
        unwanted.stop_sending();
        unwanted.write_stdout(&[b'\n'; 70_000]);
        assert!(!unwanted.has_some(FlushReason::Ends) && unwanted.take_full().is_none());
        assert!(unwanted.held_bytes() > 70_000, "the result has it");
    }
}
