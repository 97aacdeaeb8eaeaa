//! What commands print: nothing in it can drive the terminal of whoever reads it, or hide what is there, also when it was kept in a file.

use super::text::printable_lines;
use anyhow::bail;
use platform::telemetry::escape_json;
use std::fmt;
use std::io::{ErrorKind, Write as _};
use std::sync::OnceLock;

/// Why something could not be printed, first.
static FAILURE: OnceLock<std::io::Error> = OnceLock::new();

/// In all commands, `println!` is this one.
macro_rules! println {
    () => { $crate::cli::out::print_lines(::std::format_args!("")) };
    ($($text:tt)*) => { $crate::cli::out::print_lines(::std::format_args!($($text)*)) };
}

/// Prints lines of text. What is unsafe in them is escaped, wherever it comes from.
pub(super) fn print_lines(text: fmt::Arguments<'_>) {
    write_line(&printable_lines(&text.to_string()));
}

/// Prints JSON, in which what is unsafe is escaped so that its values stay the same.
pub(super) fn print_json(text: &str) {
    write_line(&escape_json(text));
}

fn write_line(line: &str) {
    match writeln!(std::io::stdout().lock(), "{line}") {
        // Whoever has read enough, such as `head`, has closed the pipe: what else this does goes on, as if it were read.
        Err(error) if error.kind() != ErrorKind::BrokenPipe => drop(FAILURE.set(error)),
        _ => {}
    }
}

/// Fails if something could not be printed, such as to a full disk. For the end of a command.
pub(super) fn check_printed() -> anyhow::Result<()> {
    match FAILURE.get() {
        Some(error) => bail!("what this printed is not complete: {error}"),
        None => Ok(()),
    }
}
