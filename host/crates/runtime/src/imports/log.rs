//! `log`, and what a guest writes to stdout and stderr: all into the host's log, marked, escaped, and within limits.

use platform::telemetry::printable;
use policy::{Limits, PluginId};
use std::sync::{Arc, Mutex, PoisonError};

/// Severities of RFC 5424, least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the names are those of RFC 5424")]
pub enum Level {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

/// What of stderr is kept for the error of a guest that panics.
const LAST_WORDS: usize = 512;

/// The log of one call; clones write to the same one.
#[derive(Clone)]
pub struct GuestLog(Arc<Mutex<State>>);

struct State {
    plugin: PluginId,
    tool: String,
    call: String,
    bytes_left: u64,
    lines_left: u64,
    dropped: u64,
    /// The end of what went to stderr.
    last_words: String,
}

impl GuestLog {
    /// For one call.
    pub fn new(plugin: PluginId, tool: &str, call: &str, limits: &Limits) -> Self {
        Self(Arc::new(Mutex::new(State {
            plugin,
            tool: tool.to_owned(),
            call: call.to_owned(),
            bytes_left: limits.log.as_u64(),
            lines_left: limits.log_lines,
            dropped: 0,
            last_words: String::new(),
        })))
    }

    /// From now on for another call, in an instance that was made before it.
    pub fn begin(&self, tool: &str, call: &str) {
        let mut state = self.state();
        tool.clone_into(&mut state.tool);
        call.clone_into(&mut state.call);
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        // A panic while the lock was held leaves counters, which are still good.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes one record, unless the call has logged enough: false.
    pub fn write(&self, level: Level, message: &str) -> bool {
        let mut state = self.state();
        let size = message.len() as u64;
        if state.lines_left == 0 || state.bytes_left < size {
            state.dropped += 1;
            return false;
        }
        state.lines_left -= 1;
        state.bytes_left -= size;
        let (plugin, tool, call) = (&state.plugin, &state.tool, &state.call);
        let message = printable(message);
        match level {
            Level::Debug => tracing::debug!(target: "guest", %plugin, tool, call, "{message}"),
            Level::Info | Level::Notice => tracing::info!(target: "guest", %plugin, tool, call, "{message}"),
            Level::Warning => tracing::warn!(target: "guest", %plugin, tool, call, "{message}"),
            Level::Error | Level::Critical | Level::Alert | Level::Emergency => {
                tracing::error!(target: "guest", %plugin, tool, call, "{message}");
            }
        }
        true
    }

    fn remember(&self, text: &str) {
        let mut state = self.state();
        state.last_words.push_str(text);
        let excess = state.last_words.len().saturating_sub(LAST_WORDS);
        let cut = state.last_words.ceil_char_boundary(excess);
        state.last_words.drain(..cut);
    }

    /// What a Rust panic or another runtime said at the end, in one line; none when it said nothing.
    pub fn last_words(&self) -> Option<String> {
        let state = self.state();
        let said =
            state.last_words.rfind("panicked at").map_or(state.last_words.as_str(), |at| &state.last_words[at..]);
        let lines: Vec<&str> =
            said.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("note: ")).collect();
        let from = if said.starts_with("panicked at") { 0 } else { lines.len().saturating_sub(1) };
        let words = lines.get(from..).filter(|lines| !lines.is_empty())?.join(" ");
        Some(printable(&words).into_owned())
    }

    /// Ends the log: says how much was dropped, if anything was.
    pub fn finish(&self) {
        let state = self.state();
        if state.dropped > 0 {
            let (plugin, tool, call, dropped) = (&state.plugin, &state.tool, &state.call, state.dropped);
            tracing::warn!(target: "guest", %plugin, tool, call, dropped, "log records dropped: limits.log or limits.log-lines reached");
        }
    }
}

/// stdout or stderr of a guest: lines become log records.
pub struct Stream {
    log: GuestLog,
    error: bool,
    line: Vec<u8>,
}

impl Stream {
    /// The longest line; a longer one is broken.
    const MAX_LINE: usize = 4 << 10;

    /// stderr when `error`, else stdout.
    pub fn new(log: GuestLog, error: bool) -> Self {
        Self { log, error, line: Vec::new() }
    }

    /// Takes what the guest wrote.
    pub fn write(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            self.line.extend_from_slice(piece);
            if self.line.ends_with(b"\n") || self.line.len() > Self::MAX_LINE {
                self.flush();
            }
        }
    }

    fn flush(&mut self) {
        let line = std::mem::take(&mut self.line);
        let text = String::from_utf8_lossy(&line);
        if self.error {
            self.log.remember(&text);
        }
        let level = if self.error { Level::Warning } else { Level::Info };
        self.log.write(level, text.trim_end_matches(['\n', '\r']));
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if !self.line.is_empty() {
            self.flush();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use policy::Side;

    fn log() -> GuestLog {
        let plugin = PluginId { side: Side::Server, name: "p".into() };
        GuestLog::new(plugin, "t", "c", &Limits { log_lines: 3, ..Limits::default() })
    }

    #[test]
    fn remembers_a_panic_in_one_line() {
        let log = log();
        let mut stderr = Stream::new(log.clone(), true);
        stderr.write(b"hello\nthread 'main' panicked at src/lib.rs:1:2:\n");
        stderr.write("no bananas \u{1b}[31mleft\nnote: run with RUST_BACKTRACE\n".as_bytes());
        assert_eq!(log.last_words().unwrap(), "panicked at src/lib.rs:1:2: no bananas \\u{1b}[31mleft");
        assert_eq!(log.state().dropped, 1);
    }

    #[test]
    fn keeps_the_end_of_a_long_lament() {
        let log = log();
        Stream::new(log.clone(), true).write(&[b"e".repeat(LAST_WORDS * 3), b"\nlast\n".to_vec()].concat());
        assert_eq!(log.last_words().unwrap(), "last");
        assert!(log.state().last_words.len() <= LAST_WORDS);
    }
}
