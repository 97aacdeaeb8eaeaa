//! Server-sent events, as far as a client with one request needs them: the `data` of each event.

/// Splits a byte stream into events.
#[derive(Default)]
pub(super) struct Events {
    /// Bytes of an incomplete line.
    rest: Vec<u8>,
    data: Vec<u8>,
}

impl Events {
    /// Takes the next piece of the stream and passes the data of every complete event to `on_event`.
    pub(super) fn feed<E>(&mut self, bytes: &[u8], mut on_event: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        self.rest.extend_from_slice(bytes);
        let mut start = 0;
        while let Some(length) = self.rest[start..].iter().position(|&byte| byte == b'\n') {
            let line = &self.rest[start..start + length];
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            start += length + 1;
            if line.is_empty() {
                // Events without data, such as the priming one, carry no message.
                if !self.data.is_empty() {
                    on_event(&self.data)?;
                    self.data.clear();
                }
            } else if let Some(data) = line.strip_prefix(b"data:") {
                if !self.data.is_empty() {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(data.strip_prefix(b" ").unwrap_or(data));
            }
        }
        self.rest.drain(..start);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Events;

    #[test]
    fn events_cut_anywhere_come_out_whole() {
        let stream = b"id: 0\nretry: 3000\ndata:\n\n: ping\n\nid: 1\r\ndata: {\"a\":1}\r\n\r\ndata: b\ndata: c\n\n";
        for cut in 0..stream.len() {
            let mut seen = Vec::new();
            let mut events = Events::default();
            for piece in [&stream[..cut], &stream[cut..]] {
                let taken: Result<(), std::convert::Infallible> = events.feed(piece, |data| {
                    seen.push(String::from_utf8_lossy(data).into_owned());
                    Ok(())
                });
                assert!(taken.is_ok());
            }
            assert_eq!(seen, ["{\"a\":1}", "b\nc"], "cut at {cut}");
        }
    }
}
