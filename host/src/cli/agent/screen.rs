//! Output of the agent: lines for people, above the prompt if there is one, or JSON for programs.

use crate::cli::frame::{self, framed, wrapped};
use crate::cli::text::without_codes;
use platform::telemetry::{escape_json, printable};
use platform::text::truncate;
use rustyline::ExternalPrinter;
use serde_json::{Value, json};
use std::io::{IsTerminal, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::Duration;

/// Longest foreign text that is shown at once, in bytes and lines. Keeps our own output on the screen.
const MAX_TEXT: usize = 16 << 10;
const MAX_LINES: usize = 200;
/// Longest foreign text inside a line of our own, in bytes.
pub(super) const MAX_INLINE: usize = 256;
/// Queued output above the prompt. Bounds the memory that a flood costs while the user types.
const MAX_QUEUE: usize = 4_096;

pub(super) struct Screen {
    json: bool,
    bold: bool,
    queue: OnceLock<SyncSender<Print>>,
    unseen: AtomicU64,
}

/// A job of the thread that prints above the prompt.
enum Print {
    Text(String),
    /// Confirmed when everything before it has been printed.
    Flush(SyncSender<()>),
}

impl Screen {
    pub(super) fn new(json: bool) -> Self {
        Self { json, bold: !json && std::io::stdout().is_terminal(), queue: OnceLock::new(), unseen: AtomicU64::new(0) }
    }

    /// Prints above a prompt from now on. A thread of its own prints, so that nobody waits for the prompt.
    pub(super) fn above_prompt(&self, mut printer: Box<dyn ExternalPrinter + Send>) {
        let (send, receive) = sync_channel(MAX_QUEUE);
        std::thread::spawn(move || {
            while let Ok(print) = receive.recv() {
                match print {
                    // Fails when the terminal is closed.
                    Print::Text(text) => drop(printer.print(text)),
                    Print::Flush(done) => drop(done.send(())),
                }
            }
        });
        let _ = self.queue.set(send);
    }

    /// Waits up to a second until all output is printed.
    pub(super) fn flush(&self) {
        let Some(queue) = self.queue.get() else { return };
        let (send, receive) = sync_channel(1);
        if queue.try_send(Print::Flush(send)).is_ok() {
            let _ = receive.recv_timeout(Duration::from_secs(1));
        }
    }

    /// Shows something: `json` to programs, `text` to people.
    pub(super) fn show(&self, json: &Value, text: &str) {
        if self.json {
            return self.print(&escape_json(&json.to_string()));
        }
        if !text.is_empty() {
            self.print(text);
        }
    }

    /// Shows what went wrong, in one sentence.
    pub(super) fn show_error(&self, error: &str) {
        let error = without_codes(error);
        self.show(&json!({ "event": "error", "message": error }), &format!("error: {error}"));
    }

    fn print(&self, text: &str) {
        let columns = self.size().map(|(_, columns)| columns).filter(|_| !self.json);
        let mut line = format!("{}\n", wrapped(text, columns));
        let Some(queue) = self.queue.get() else {
            let mut out = std::io::stdout().lock();
            // Fails when the reader is gone.
            let _ = out.write_all(line.as_bytes()).and_then(|()| out.flush());
            return;
        };
        let unseen = self.unseen.swap(0, Ordering::Relaxed);
        if unseen > 0 {
            line = format!("({unseen} lines were left out, as they came too fast)\n{line}");
        }
        if queue.try_send(Print::Text(line)).is_err() {
            self.unseen.fetch_add(unseen + 1, Ordering::Relaxed);
        }
    }

    /// Lines and columns of the terminal, if a person works at one.
    pub(super) fn size(&self) -> Option<(usize, usize)> {
        self.queue.get()?;
        frame::size(std::io::stdout())
    }

    /// Highlights our own text.
    pub(super) fn strong(&self, text: &str) -> String {
        if self.bold { format!("\u{1b}[1m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

/// Foreign text, escaped, shortened and with a margin, so that it cannot be mistaken for our own output.
pub(super) fn quoted(text: &str) -> String {
    let whole = text.len() <= MAX_TEXT && text.lines().count() <= MAX_LINES;
    let cut = truncate(text, MAX_TEXT);
    let framed = framed(cut);
    let mut lines: Vec<_> = framed.lines().take(MAX_LINES).collect();
    let cut_off = format!("    (… {} bytes in all)", text.len());
    if !whole {
        lines.push(&cut_off);
    }
    lines.join("\n")
}

/// Foreign text in one line, to be used inside our own output.
pub(super) fn inline(text: &str) -> String {
    printable(truncate(text, MAX_INLINE)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::frame::MARGIN;

    #[test]
    fn foreign_text_never_looks_like_our_own() {
        let text = quoted("hello\n[3] approve this\u{1b}[2J\u{202e}");
        assert!(text.lines().all(|line| line.starts_with(MARGIN)), "{text}");
        assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'));
        let long = quoted(&"x\n".repeat(100_000));
        assert!(long.lines().count() <= MAX_LINES + 1 && long.ends_with("200000 bytes in all)"));
        assert!(!inline("a\nb").contains('\n'));
    }
}
