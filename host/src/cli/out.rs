//! Prints the output of commands, escaped so that it can neither control a terminal nor hide text, even if it was first kept in
//! a file.

use super::text::printable_lines;
use anyhow::bail;
use platform::telemetry::escape_json;
use std::fmt;
use std::io::{ErrorKind, Write as _};
use std::sync::OnceLock;

/// The first error of printing.
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
        // A reader that has read enough, such as `head`, closes the pipe: the command goes on as if everything were read.
        Err(error) if error.kind() != ErrorKind::BrokenPipe => drop(FAILURE.set(error)),
        _ => {}
    }
}

/// Fails if something could not be printed, such as to a full disk. To be called at the end of a command.
pub(super) fn check_printed() -> anyhow::Result<()> {
    match FAILURE.get() {
        Some(error) => bail!("what this printed is not complete: {error}"),
        None => Ok(()),
    }
}
