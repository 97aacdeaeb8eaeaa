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

mod characters;

pub use characters::{hidden, is_unsafe};

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
        .map_err(|error| error.to_string())?;
    // The default one writes text of anybody's as it is.
    std::panic::set_hook(Box::new(|panic| {
        let words = panic.payload_as_str().unwrap_or("without a word");
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        tracing::error!("the host panicked at {place}: {}", printable(words));
    }));
    Ok(())
}

/// Text from outside, fit for a log line or a terminal: control characters (which could forge records or drive the
/// terminal) and invisible formatting characters are escaped.
pub fn printable(text: &str) -> Cow<'_, str> {
    let mut unsafe_ones = hidden(text).peekable();
    if unsafe_ones.peek().is_none() {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    let mut done = 0;
    for (at, c) in unsafe_ones {
        safe.push_str(&text[done..at]);
        match c {
            '\n' => safe.push_str("\\n"),
            '\t' => safe.push_str("\\t"),
            '\r' => safe.push_str("\\r"),
            c => safe.extend(c.escape_unicode()),
        }
        done = at + c.len_utf8();
    }
    safe.push_str(&text[done..]);
    Cow::Owned(safe)
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
