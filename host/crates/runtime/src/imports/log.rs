//! `log`, and a guest's stdout and stderr: written to the host's log, labelled, escaped, and within limits.

use platform::audit::Silence;
use platform::sync::Mutex;
use platform::telemetry::printable;
use policy::{Limits, Lineage, PluginId, TreeBudget};
use std::sync::Arc;

/// Severities of RFC 5424, lowest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

/// Bytes of stderr that are kept for the error message of a guest that panics.
const MAX_STDERR_TAIL: usize = 512;

/// The log of one call. Clones share its limits.
#[derive(Clone)]
pub struct GuestLog(Arc<Mutex<LogState>>);

struct LogState {
    plugin: PluginId,
    tool: Arc<str>,
    call: Arc<str>,
    budget: LogBudget,
    dropped: u64,
    /// The end of stderr.
    stderr_tail: String,
    silence: Option<Silence>,
}

/// How much may be written.
enum LogBudget {
    /// For an instance whose call has not begun, and that may serve any call: the limits of one call, and what the instance has
    /// written.
    Instance { limits: LogSize, written: LogSize },
    /// For a call, which shares its limits with its callers.
    Call(Lineage),
}

#[derive(Clone, Copy, Default)]
struct LogSize {
    bytes: u64,
    lines: u64,
}

impl LogBudget {
    /// Takes the room for one line of `bytes` bytes. Returns false, and takes nothing, if there is not enough.
    fn take(&mut self, bytes: u64) -> bool {
        match self {
            Self::Instance { limits, written } => {
                let more = LogSize { bytes: written.bytes.saturating_add(bytes), lines: written.lines + 1 };
                let fits = more.bytes <= limits.bytes && more.lines <= limits.lines;
                if fits {
                    *written = more;
                }
                fits
            }
            Self::Call(lineage) => {
                let fits = lineage.take(TreeBudget::LogBytes, bytes).is_ok();
                if fits && lineage.take(TreeBudget::LogLines, 1).is_err() {
                    lineage.give_back(TreeBudget::LogBytes, bytes);
                    return false;
                }
                fits
            }
        }
    }

    /// Counts what the instance has written against its call.
    fn begin(&mut self, lineage: &Lineage) {
        if let Self::Instance { written, .. } = self
            && written.lines > 0
        {
            lineage.take_up_to(TreeBudget::LogBytes, written.bytes);
            lineage.take_up_to(TreeBudget::LogLines, written.lines);
        }
        *self = Self::Call(lineage.clone());
    }
}

impl GuestLog {
    pub fn new(plugin: PluginId, limits: &Limits) -> Self {
        let limits = LogSize { bytes: limits.log.as_u64(), lines: limits.log_lines };
        Self(Arc::new(Mutex::new(LogState {
            plugin,
            tool: Arc::default(),
            call: Arc::default(),
            budget: LogBudget::Instance { limits, written: LogSize::default() },
            dropped: 0,
            stderr_tail: String::new(),
            silence: None,
        })))
    }

    /// Labels the log with the call that begins.
    /// Nothing is written while `silence` holds: another run of the call does so.
    pub fn begin(&self, tool: &Arc<str>, call: &Arc<str>, lineage: &Lineage, silence: Option<Silence>) {
        let mut state = self.state();
        state.silence = silence;
        state.budget.begin(lineage);
        state.tool = tool.clone();
        state.call = call.clone();
    }

    fn state(&self) -> std::sync::MutexGuard<'_, LogState> {
        // A panic while the lock was held leaves valid counters.
        self.0.lock()
    }

    /// Writes one record; returns false when the call has reached its limits, or is replayed.
    pub fn write(&self, level: LogLevel, message: &str) -> bool {
        let mut state = self.state();
        if !state.budget.take(message.len() as u64) {
            state.dropped += 1;
            return false;
        }
        if state.silence.as_ref().is_some_and(|silence| silence()) {
            return false;
        }
        let (plugin, tool, call) = (&state.plugin, &*state.tool, &*state.call);
        let message = printable(message);
        match level {
            LogLevel::Debug => tracing::debug!(target: "guest", %plugin, tool, call, "{message}"),
            LogLevel::Info | LogLevel::Notice => tracing::info!(target: "guest", %plugin, tool, call, "{message}"),
            LogLevel::Warning => tracing::warn!(target: "guest", %plugin, tool, call, "{message}"),
            LogLevel::Error | LogLevel::Critical | LogLevel::Alert | LogLevel::Emergency => {
                tracing::error!(target: "guest", %plugin, tool, call, "{message}");
            }
        }
        true
    }

    fn append_stderr(&self, text: &str) {
        let mut state = self.state();
        state.stderr_tail.push_str(text);
        let excess = state.stderr_tail.len().saturating_sub(MAX_STDERR_TAIL);
        let cut = state.stderr_tail.ceil_char_boundary(excess);
        state.stderr_tail.drain(..cut);
    }

    /// The message of a Rust panic, or the last line of stderr, in one line.
    pub fn failure_message(&self) -> Option<String> {
        let state = self.state();
        let text =
            state.stderr_tail.rfind("panicked at").map_or(state.stderr_tail.as_str(), |at| &state.stderr_tail[at..]);
        let lines: Vec<&str> =
            text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("note: ")).collect();
        let from = if text.starts_with("panicked at") { 0 } else { lines.len().saturating_sub(1) };
        let message = lines.get(from..).filter(|lines| !lines.is_empty())?.join(" ");
        Some(printable(&message).into_owned())
    }

    /// Logs how many records were dropped, if any.
    pub fn finish(&self) {
        let state = self.state();
        if state.dropped > 0 {
            let (plugin, tool, call, dropped) = (&state.plugin, &*state.tool, &*state.call, state.dropped);
            tracing::warn!(target: "guest", %plugin, tool, call, dropped, "log records dropped: limits.log or limits.log-lines reached");
        }
    }
}

/// stdout or stderr of a guest; each line becomes a log record.
pub struct StdioLog {
    log: GuestLog,
    error: bool,
    line: Vec<u8>,
}

impl StdioLog {
    /// Length of a line in bytes; longer ones are split.
    const MAX_LINE: usize = 4 << 10;

    /// stderr when `error`, else stdout.
    pub fn new(log: GuestLog, error: bool) -> Self {
        Self { log, error, line: Vec::new() }
    }

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
            self.log.append_stderr(&text);
        }
        let level = if self.error { LogLevel::Warning } else { LogLevel::Info };
        self.log.write(level, text.trim_end_matches(['\n', '\r']));
    }
}

impl Drop for StdioLog {
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
        GuestLog::new(plugin, &Limits { log_lines: 3, ..Limits::default() })
    }

    #[test]
    fn remembers_a_panic_in_one_line() {
        let log = log();
        let mut stderr = StdioLog::new(log.clone(), true);
        stderr.write(b"hello\nthread 'main' panicked at src/lib.rs:1:2:\n");
        stderr.write("no bananas \u{1b}[31mleft\nnote: run with RUST_BACKTRACE\n".as_bytes());
        assert_eq!(log.failure_message().unwrap(), "panicked at src/lib.rs:1:2: no bananas \\u{1b}[31mleft");
        assert_eq!(log.state().dropped, 1);
    }

    #[test]
    fn keeps_the_end_of_a_long_stderr() {
        let log = log();
        StdioLog::new(log.clone(), true).write(&[b"e".repeat(MAX_STDERR_TAIL * 3), b"\nlast\n".to_vec()].concat());
        assert_eq!(log.failure_message().unwrap(), "last");
        assert!(log.state().stderr_tail.len() <= MAX_STDERR_TAIL);
    }

    #[test]
    fn what_an_instance_wrote_counts_for_its_call() {
        let log = log();
        assert!(log.write(LogLevel::Info, "made") && log.write(LogLevel::Info, "made"));
        let lineage = Lineage::root("plugins.p.x", &Limits { log_lines: 3, ..Limits::default() });
        log.begin(&"x".into(), &"c".into(), &lineage, None);
        assert!(log.write(LogLevel::Info, "called") && !log.write(LogLevel::Info, "called"));
        assert_eq!((lineage.used(TreeBudget::LogLines), lineage.used(TreeBudget::LogBytes)), (3, 14));
    }
}
