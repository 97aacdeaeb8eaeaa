//! What the host says about itself: logs, to stderr only, since stdout is the MCP wire; counters; spans.

mod log;
mod meter;
mod metrics;
pub mod otlp;
mod trace;

pub use log::{LogFormat, log_as};
pub use meter::{Meter, Used};
pub use metrics::{Levels, METRICS, Metric, Metrics, catch_up};
pub use trace::{Active, Attribute, Place, Span, Tracer};

use std::borrow::Cow;
use std::io::IsTerminal;
use tracing_subscriber::EnvFilter;

/// Starts logging. `filter` is in the syntax of `tracing_subscriber`, such as `info,guest=debug`.
pub fn init(filter: &str) -> Result<(), String> {
    let filter = EnvFilter::try_new(filter).map_err(|error| format!("`{filter}` is no log filter: {error}"))?;
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .event_format(log::Chosen::default())
        .try_init()
        .map_err(|error| error.to_string())
}

/// Text from outside, fit for a log line or a terminal: control characters (which could forge records or drive the
/// terminal) and invisible formatting characters are escaped.
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '\n' => safe.push_str("\\n"),
            '\t' => safe.push_str("\\t"),
            '\r' => safe.push_str("\\r"),
            c if is_unsafe(c) => safe.extend(c.escape_unicode()),
            c => safe.push(c),
        }
    }
    Cow::Owned(safe)
}

/// Control characters, and characters that change or hide what a reader sees.
pub fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_drives_the_terminal() {
        assert_eq!(printable("héllo"), "héllo");
        assert_eq!(printable("a\n{\"level\":1}\x1b[2J\u{202e}x\u{9b}"), "a\\n{\"level\":1}\\u{1b}[2J\\u{202e}x\\u{9b}");
    }
}
