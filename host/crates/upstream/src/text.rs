//! Text from a server, made safe to show.

use platform::telemetry::printable;
use platform::text::truncate;

/// Longest text in one error, report or log message, in bytes.
const MAX_TEXT: usize = 4 << 10;

/// Shortens a server's text and escapes it, so that it fits in one line.
pub(super) fn single_line(text: &str) -> String {
    printable(truncate(text, MAX_TEXT)).into_owned()
}
