//! NDJSON over a child's pipes or sockets: one request per line, any number in flight.

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};

use super::message::{Answer, Template, is_notification};

/// A client at the other end of a server's stdin and stdout.
pub(crate) struct StdioClient {
    input: Box<dyn AsyncWrite + Unpin>,
    output: BufReader<Box<dyn AsyncRead + Unpin>>,
    next: u64,
    outgoing: Vec<u8>,
    line: Vec<u8>,
}

impl StdioClient {
    pub(crate) fn new(input: impl AsyncWrite + Unpin + 'static, output: impl AsyncRead + Unpin + 'static) -> Self {
        let output: Box<dyn AsyncRead + Unpin> = Box::new(output);
        let output = BufReader::with_capacity(64 << 10, output);
        Self { input: Box::new(input), output, next: 0, outgoing: Vec::new(), line: Vec::new() }
    }

    /// Pauses after every `piece` bytes of output.
    pub(super) async fn exchange_slowly(
        &mut self,
        template: &Template,
        piece: usize,
        mut pause: impl AsyncFnMut() -> Result<()>,
        mut on_notification: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<Answer> {
        let number = self.queue(template);
        self.flush().await?;
        let mut unpaused = 0;
        loop {
            self.read_line().await?;
            unpaused += self.line.len();
            if unpaused >= piece {
                unpaused = 0;
                pause().await?;
            }
            if !is_notification(&self.line)? {
                return template.check(number, &self.line);
            }
            on_notification(&self.line)?;
        }
    }

    /// Sends a message unchanged.
    pub(crate) async fn send(&mut self, message: &Value) -> Result<()> {
        serde_json::to_writer(&mut self.outgoing, message)?;
        self.outgoing.push(b'\n');
        self.flush().await
    }

    /// Reads the next message of any kind.
    pub(crate) async fn receive(&mut self) -> Result<Value> {
        self.read_line().await?;
        serde_json::from_slice(&self.line).with_context(|| format!("not JSON: {}", String::from_utf8_lossy(&self.line)))
    }

    /// Sends `total` requests, `window` of them in flight at any time, and returns the requests per second.
    pub(crate) async fn pipeline(&mut self, template: &Template, window: usize, total: usize) -> Result<f64> {
        let begin = Instant::now();
        let first = self.next;
        let mut waiting = vec![true; total];
        for _ in 0..window.min(total) {
            self.queue(template);
        }
        let mut sent = window.min(total);
        for _ in 0..total {
            // Write only when there is nothing left to read, so that requests are sent in batches, like the answers.
            if !self.output.buffer().contains(&b'\n') {
                self.flush().await?;
            }
            self.read_line().await?;
            let (id, _) = template.read(&self.line)?;
            let place = usize::try_from(id.wrapping_sub(first))?;
            ensure!(waiting.get(place) == Some(&true), "request {id} was answered twice or never sent");
            waiting[place] = false;
            if sent < total {
                self.queue(template);
                sent += 1;
            }
        }
        Ok(total as f64 / begin.elapsed().as_secs_f64())
    }

    fn queue(&mut self, template: &Template) -> u64 {
        let number = self.next;
        self.next += 1;
        template.write(number, &mut self.outgoing);
        self.outgoing.push(b'\n');
        number
    }

    async fn flush(&mut self) -> Result<()> {
        if !self.outgoing.is_empty() {
            self.input.write_all(&self.outgoing).await.context("the server stopped reading")?;
            self.outgoing.clear();
        }
        Ok(())
    }

    async fn read_line(&mut self) -> Result<()> {
        self.line.clear();
        let read = self.output.read_until(b'\n', &mut self.line).await.context("cannot read the server's stdout")?;
        ensure!(read > 0, "the server closed its stdout");
        Ok(())
    }
}
