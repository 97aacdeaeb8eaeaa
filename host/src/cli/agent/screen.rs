//! Where things are shown: lines for a person, above the prompt if there is one, or JSON for programs.

use super::super::printable_lines;
use platform::telemetry::printable;
use rustyline::ExternalPrinter;
use serde_json::Value;
use std::io::{IsTerminal, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::Duration;

/// What others wrote is shown up to this much at once, in bytes and lines. Bounds what pushes our own words off the screen.
const MAX_TEXT: usize = 16 << 10;
const MAX_LINES: usize = 200;
/// Things that wait to be printed above the prompt. Bounds what a flood holds while the user types.
const MAX_QUEUE: usize = 4_096;
/// Before each line that others wrote. Nothing of ours begins so.
const MARGIN: &str = "    │ ";

/// Takes what is to be shown.
pub(super) struct Screen {
    json: bool,
    bold: bool,
    queue: OnceLock<SyncSender<Print>>,
    unseen: AtomicU64,
}

/// What a thread prints above the prompt.
enum Print {
    Text(String),
    /// Told when everything before it has been printed.
    Flush(SyncSender<()>),
}

impl Screen {
    pub(super) fn new(json: bool) -> Self {
        Self { json, bold: !json && std::io::stdout().is_terminal(), queue: OnceLock::new(), unseen: AtomicU64::new(0) }
    }

    /// From now on a prompt stands below what is shown. Printing waits for the prompt, and nobody waits for printing.
    pub(super) fn above_prompt(&self, mut printer: Box<dyn ExternalPrinter + Send>) {
        let (send, receive) = sync_channel(MAX_QUEUE);
        std::thread::spawn(move || {
            while let Ok(print) = receive.recv() {
                match print {
                    // A terminal that is gone shows nothing.
                    Print::Text(text) => drop(printer.print(text)),
                    Print::Flush(done) => drop(done.send(())),
                }
            }
        });
        let _ = self.queue.set(send);
    }

    /// Waits a moment for what is being printed.
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
            return self.print(&json.to_string());
        }
        if !text.is_empty() {
            self.print(text);
        }
    }

    fn print(&self, line: &str) {
        let mut line = format!("{line}\n");
        let Some(queue) = self.queue.get() else {
            let mut out = std::io::stdout().lock();
            // Nobody reads any more: there is nobody to tell.
            let _ = out.write_all(line.as_bytes()).and_then(|()| out.flush());
            return;
        };
        let unseen = self.unseen.swap(0, Ordering::Relaxed);
        if unseen > 0 {
            line = format!("({unseen} more were too fast to be shown)\n{line}");
        }
        if queue.try_send(Print::Text(line)).is_err() {
            self.unseen.fetch_add(unseen + 1, Ordering::Relaxed);
        }
    }

    /// Words of ours that matter.
    pub(super) fn strong(&self, text: &str) -> String {
        if self.bold { format!("\u{1b}[1m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

/// What others wrote: escaped, bounded, and behind a margin, so that none of it can be taken for ours.
pub(super) fn quoted(text: &str) -> String {
    let whole = text.len() <= MAX_TEXT && text.lines().count() <= MAX_LINES;
    let cut = &text[..text.floor_char_boundary(MAX_TEXT)];
    let mut lines: Vec<String> =
        printable_lines(cut).lines().take(MAX_LINES).map(|line| format!("{MARGIN}{line}")).collect();
    if !whole {
        lines.push(format!("    (… {} bytes in all)", text.len()));
    }
    lines.join("\n")
}

/// One line of it, in the middle of ours.
pub(super) fn word(text: &str) -> String {
    let cut = &text[..text.floor_char_boundary(256)];
    printable(cut).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_wrote_never_looks_like_ours() {
        let said = quoted("hello\n[3] approve this\u{1b}[2J\u{202e}");
        assert!(said.lines().all(|line| line.starts_with(MARGIN)), "{said}");
        assert!(!said.contains('\u{1b}') && !said.contains('\u{202e}'));
        let long = quoted(&"x\n".repeat(100_000));
        assert!(long.lines().count() <= MAX_LINES + 1 && long.ends_with("200000 bytes in all)"));
        assert!(!word("a\nb").contains('\n'));
    }
}
