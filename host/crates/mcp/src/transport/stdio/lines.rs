//! Splits stdin into lines.

use crate::transport::responses::sent_text::SentText;
use bytes::BytesMut;
use memchr::memchr;
use std::io;
use tokio_util::codec::Decoder;

/// Bytes of a line, without its end. A client that never ends a line must not fill the memory. rmcp's own limit is the same.
pub(super) const MAX_LINE: usize = 16 << 20;

/// Bytes that are read together of a line that is too long.
const SKIPPED: usize = 64 << 10;

pub(super) enum Line {
    /// A line with its end, or the rest of the input.
    Text(BytesMut),
    /// Only its beginning and its end were kept.
    TooLong(SentText),
    /// Its beginning was read by an earlier process, which has not kept it.
    Lost(SentText),
}

#[derive(Default)]
pub(super) struct LineDecoder {
    /// Bytes of the buffer that are known to have no line end.
    searched: usize,
    /// The kept parts of a line that is too long.
    skipping: Option<SentText>,
    /// Whether this is a line whose beginning an earlier process has read.
    is_lost: bool,
}

impl LineDecoder {
    /// Goes on with a line of which an earlier process has kept these two parts.
    pub(super) fn within(begin: &[u8], end: &[u8]) -> Self {
        let mut sent = SentText::default();
        sent.add_part(begin);
        sent.add_part(end);
        Self { skipping: Some(sent), is_lost: true, ..Self::default() }
    }
}

impl Decoder for LineDecoder {
    type Item = Line;
    type Error = io::Error;

    fn decode(&mut self, buffer: &mut BytesMut) -> io::Result<Option<Line>> {
        let rest = buffer.get(self.searched..).unwrap_or_default();
        let Some(end) = memchr(b'\n', rest) else {
            self.searched = buffer.len();
            if self.skipping.is_some() || buffer.len() > MAX_LINE {
                self.skipping.get_or_insert_default().add_part(buffer);
                self.searched = 0;
                // A new buffer is used, because the old one would keep its memory for the life of the process.
                *buffer = BytesMut::with_capacity(SKIPPED);
            }
            return Ok(None);
        };
        let line = buffer.split_to(self.searched + end + 1);
        self.searched = 0;
        let too_long = self.skipping.take().or_else(|| (line.len() > MAX_LINE + 1).then(SentText::default));
        Ok(Some(match too_long {
            Some(mut sent) => {
                sent.add_part(&line);
                if std::mem::take(&mut self.is_lost) { Line::Lost(sent) } else { Line::TooLong(sent) }
            }
            None => Line::Text(line),
        }))
    }

    fn decode_eof(&mut self, buffer: &mut BytesMut) -> io::Result<Option<Line>> {
        match self.decode(buffer)? {
            None if !buffer.is_empty() => Ok(Some(Line::Text(buffer.split()))),
            line => Ok(line),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::StreamExt;
    use std::collections::VecDeque;
    use std::pin::Pin;
    use std::task::{Context, Poll};
    use tokio::io::{AsyncRead, ReadBuf};
    use tokio_util::codec::FramedRead;

    /// A reader that returns one piece in each read.
    struct Pieces(VecDeque<Vec<u8>>);

    impl AsyncRead for Pieces {
        fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
            if let Some(mut piece) = self.0.pop_front() {
                let read = piece.len().min(into.remaining());
                into.put_slice(&piece[..read]);
                piece.drain(..read);
                if !piece.is_empty() {
                    self.0.push_front(piece);
                }
            }
            Poll::Ready(Ok(()))
        }
    }

    /// The lines; `None` for one that is too long.
    fn lines(pieces: impl IntoIterator<Item = Vec<u8>>) -> Vec<Option<String>> {
        let reader = FramedRead::new(Pieces(pieces.into_iter().collect()), LineDecoder::default());
        let lines = futures::executor::block_on(reader.collect::<Vec<_>>());
        let text = |line| match line {
            Line::Text(line) => Some(String::from_utf8(line.into()).unwrap()),
            Line::TooLong(_) | Line::Lost(_) => None,
        };
        lines.into_iter().map(|line| text(line.unwrap())).collect()
    }

    #[test]
    fn lines_are_found_however_they_arrive() {
        let text = "one\r\n\ntwo\nthree";
        let expected = ["one\r\n", "\n", "two\n", "three"].map(|line| Some(line.to_owned()));
        for size in 1..=text.len() {
            assert_eq!(lines(text.as_bytes().chunks(size).map(<[u8]>::to_vec)), expected, "pieces of {size}");
        }
        assert!(lines([]).is_empty());
    }

    #[test]
    fn a_line_that_is_too_long_is_skipped_and_the_next_one_is_read() {
        let long = |bytes: usize| vec![b'x'; bytes];
        for (bytes, expected) in [(MAX_LINE, 1), (MAX_LINE + 1, 0), (3 * MAX_LINE, 0)] {
            let found = lines([long(bytes), b"\nnext\n".to_vec()]);
            assert_eq!((found.iter().flatten().count(), found.len()), (expected + 1, 2), "{bytes} bytes");
            assert_eq!(found[1].as_deref(), Some("next\n"));
        }
        assert!(lines([long(2 * MAX_LINE)]).is_empty(), "a rest that is too long is no line");
    }
}
