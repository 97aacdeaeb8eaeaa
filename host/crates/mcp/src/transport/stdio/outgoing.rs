//! Lines on their way to stdout. A caller that needs one of them written writes all that wait, in one go.

use super::log_writer::{LineEffect, SessionLogWriter};
use platform::standard_streams::StandardOutput;
use platform::sync::Mutex;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::io::AsyncWriteExt as _;

/// Waiting bytes above which no further input is read. A client that sends requests and reads no responses must not fill the
/// memory.
const MAX_WAITING: usize = 16 << 20;
/// Messages whose sender waits until they are written, above which no further input is read. Each keeps the task of its request
/// alive, which is far larger than a short response.
const MAX_SENDERS: usize = 1_024;
/// A buffer larger than this is freed after use.
const KEPT: usize = 256 << 10;
/// Bytes that the system writes to a pipe or a socket at once or not at all (`PIPE_BUF`, pipe(7)).
const WRITTEN_AT_ONCE: usize = 4_096;

pub(super) struct Outgoing {
    waiting: Mutex<Lines>,
    log: Option<Arc<SessionLogWriter>>,
    /// Bytes that are not written yet.
    unwritten: AtomicUsize,
    senders: AtomicUsize,
    writer: tokio::sync::Mutex<Writer>,
}

#[derive(Default)]
struct Lines {
    text: Vec<u8>,
    /// What the written lines do to requests, for the log.
    effects: Vec<u8>,
}

/// Counts as a waiting sender as long as it lives.
pub(super) struct Sender(Arc<Outgoing>);

impl Sender {
    pub(super) async fn send(self, text: &[u8], effect: Option<LineEffect<'_>>) -> io::Result<()> {
        self.0.push(text, effect);
        self.0.flush().await
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        self.0.senders.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Keeps what it has begun to write, because the caller that writes may be cancelled at any moment.
struct Writer {
    output: StandardOutput,
    lines: Lines,
    written: usize,
    log: Option<Arc<SessionLogWriter>>,
}

impl Outgoing {
    pub(super) fn new(output: StandardOutput, log: Option<Arc<SessionLogWriter>>) -> Self {
        let writer = Writer { output, lines: Lines::default(), written: 0, log: log.clone() };
        Self {
            log,
            waiting: Mutex::default(),
            unwritten: AtomicUsize::new(0),
            senders: AtomicUsize::new(0),
            writer: tokio::sync::Mutex::new(writer),
        }
    }

    /// Registers a sender, which counts from now on.
    pub(super) fn sender(self: &Arc<Self>) -> Sender {
        self.senders.fetch_add(1, Ordering::Relaxed);
        Sender(self.clone())
    }

    /// Adds a line; `text` has no line end.
    pub(super) fn push(&self, text: &[u8], effect: Option<LineEffect<'_>>) {
        let mut waiting = self.waiting.lock();
        waiting.text.extend_from_slice(text);
        waiting.text.push(b'\n');
        if let Some(effect) = effect.filter(|_| self.log.is_some()) {
            effect.write(&mut waiting.effects);
        }
        self.unwritten.fetch_add(text.len() + 1, Ordering::Relaxed);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.unwritten.load(Ordering::Relaxed) == 0
    }

    /// Whether nothing more is read from the client until it has read its responses.
    pub(super) fn is_full(&self) -> bool {
        self.unwritten.load(Ordering::Relaxed) > MAX_WAITING || self.senders.load(Ordering::Relaxed) > MAX_SENDERS
    }

    /// Writes what waits now. Nothing is lost if the future is dropped before it is done.
    pub(super) async fn flush(&self) -> io::Result<()> {
        let mut writer = self.writer.lock().await;
        writer.write(&self.unwritten).await?;
        std::mem::swap(&mut *self.waiting.lock(), &mut writer.lines);
        writer.write(&self.unwritten).await?;
        writer.output.flush().await
    }
}

impl Writer {
    async fn write(&mut self, unwritten: &AtomicUsize) -> io::Result<()> {
        let is_long = self.lines.text.len() > WRITTEN_AT_ONCE;
        if let Some(log) = self.log.as_ref().filter(|_| is_long && self.written == 0) {
            log.is_writing();
        }
        while let Some(rest) = self.lines.text.get(self.written..).filter(|rest| !rest.is_empty()) {
            let written = self.output.write(rest).await?;
            if written == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            self.written += written;
            unwritten.fetch_sub(written, Ordering::Relaxed);
        }
        if let Some(log) = self.log.as_ref().filter(|_| is_long || !self.lines.effects.is_empty()) {
            log.has_written(&self.lines.effects);
        }
        self.written = 0;
        self.lines.text.clear();
        self.lines.effects.clear();
        if self.lines.text.capacity() > KEPT {
            self.lines = Lines::default();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tokio::io::AsyncReadExt as _;

    #[tokio::test]
    async fn lines_stay_whole_whoever_writes_them_and_whoever_gives_up() {
        // Some lines fit, and no line does so twice.
        let (near, mut far) = tokio::io::duplex(700);
        let outgoing = Arc::new(Outgoing::new(Box::new(near), None));
        let senders = (0..20u8).map(|sender| {
            let outgoing = outgoing.clone();
            tokio::spawn(async move {
                for _ in 0..20 {
                    outgoing.push(&[b'a' + sender; 499], None);
                    // Every second one gives up at once.
                    match sender % 2 {
                        0 => outgoing.flush().await.unwrap(),
                        _ => drop(tokio::time::timeout(Duration::ZERO, outgoing.flush()).await),
                    }
                }
            })
        });
        let senders: Vec<_> = senders.collect();
        let mut received = vec![0; 20 * 20 * 500];
        let flushing = tokio::spawn({
            let outgoing = outgoing.clone();
            async move {
                for sender in senders {
                    sender.await.unwrap();
                }
                outgoing.flush().await.unwrap();
            }
        });
        far.read_exact(&mut received).await.unwrap();
        flushing.await.unwrap();
        assert!(outgoing.is_empty());
        for line in received.chunks(500) {
            assert!(line[..499].iter().all(|byte| *byte == line[0]) && line[499] == b'\n');
        }
        drop((outgoing, far));
    }

    #[tokio::test]
    async fn it_is_full_until_the_client_reads() {
        let (near, mut far) = tokio::io::duplex(64);
        let outgoing = Arc::new(Outgoing::new(Box::new(near), None));
        outgoing.push(&vec![b'x'; MAX_WAITING], None);
        assert!(outgoing.is_full() && !outgoing.is_empty());
        let flushing = tokio::spawn({
            let outgoing = outgoing.clone();
            async move { outgoing.flush().await }
        });
        far.read_exact(&mut [0; 64]).await.unwrap();
        far.read_exact(&mut vec![0; MAX_WAITING - 63]).await.unwrap();
        flushing.await.unwrap().unwrap();
        assert!(outgoing.is_empty() && !outgoing.is_full());
        let senders: Vec<_> = (0..=MAX_SENDERS).map(|_| outgoing.sender()).collect();
        assert!(outgoing.is_full(), "as many short answers wait as may");
        drop(senders);
        assert!(!outgoing.is_full());
    }
}
