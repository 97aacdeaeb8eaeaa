//! What commands print: nothing in it can drive the terminal of whoever reads it, or hide what is there, also when it was kept in a file.

use super::text::printable_lines;
use platform::telemetry::escape_json;
use std::fmt;

/// In all commands, `println!` is this one.
macro_rules! println {
    () => { ::std::println!() };
    ($($text:tt)*) => { $crate::cli::out::print_lines(::std::format_args!($($text)*)) };
}

/// Prints lines of text. What is unsafe in them is escaped, wherever it comes from.
pub(super) fn print_lines(text: fmt::Arguments<'_>) {
    std::println!("{}", printable_lines(&text.to_string()));
}

/// Prints JSON, in which what is unsafe is escaped so that its values stay the same.
pub(super) fn print_json(text: &str) {
    std::println!("{}", escape_json(text));
}
