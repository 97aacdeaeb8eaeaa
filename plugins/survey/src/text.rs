//! The survey in words: a folder's chunk, and the summary for the note.

use std::fmt::Write;

use crate::report::{Large, Report, Summary, Totals};

/// Languages and files named for one folder.
const NAMED: usize = 3;

/// A folder's chunk, such as
/// ```text
/// /src/host: 3 files, 1,204 lines, 2 TODOs
///   Rust 1,180 lines, TOML 24 lines
///   largest: main.rs 28.1 KiB, lib.rs 9.0 KiB, Cargo.toml 0.6 KiB
/// ```
pub(crate) fn folder(path: &str, summary: &Summary) -> String {
    let mut text = format!("{path}: {}", totals(&summary.totals));
    if summary.totals.files > 0 {
        let languages = summary.languages();
        let languages =
            languages.iter().take(NAMED).map(|language| format!("{} {}", language.name, count(language.lines, "line")));
        let largest = summary.largest().iter().take(NAMED).map(|file| format!("{} {}", name(file), size(file.bytes)));
        let (languages, largest) = (languages.collect::<Vec<_>>().join(", "), largest.collect::<Vec<_>>().join(", "));
        // Writing to a string cannot fail.
        let _ = write!(text, "\n  {languages}\n  largest: {largest}");
    }
    let skipped = summary.skipped.binary + summary.skipped.too_large + summary.skipped.unreadable;
    if skipped > 0 {
        let _ = write!(text, "\n  {} not counted", count(skipped, "file"));
    }
    text
}

/// The summary, in Markdown.
pub(crate) fn note(report: &Report) -> String {
    let folders = count(report.folders.len() as u64, "folder");
    let mut text = format!("{} in {folders}.\n\n| Language | Files | Lines |\n|---|--:|--:|\n", totals(&report.totals));
    for language in &report.languages {
        let _ = writeln!(text, "| {} | {} | {} |", language.name, grouped(language.files), grouped(language.lines));
    }
    text.push_str("\nLargest files:\n\n");
    for file in &report.largest {
        let _ = writeln!(text, "- `{}`: {}, {}", file.path, count(file.lines, "line"), size(file.bytes));
    }
    let mut open: Vec<_> = report.folders.iter().filter(|folder| folder.totals.todos > 0).collect();
    open.sort_by_key(|folder| std::cmp::Reverse(folder.totals.todos));
    if !open.is_empty() {
        text.push_str("\nMost TODOs:\n\n");
        for folder in open.iter().take(NAMED) {
            let _ = writeln!(text, "- `{}`: {}", folder.path, grouped(folder.totals.todos));
        }
    }
    text
}

fn totals(totals: &Totals) -> String {
    format!("{}, {}, {}", count(totals.files, "file"), count(totals.lines, "line"), count(totals.todos, "TODO"))
}

fn name(file: &Large) -> &str {
    file.path.rsplit('/').next().unwrap_or(&file.path)
}

fn size(bytes: u64) -> String {
    // Below 4 MiB per file, exact as a float.
    format!("{:.1} KiB", bytes as f64 / 1024.0)
}

fn count(number: u64, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {what}{plural}", grouped(number))
}

/// `1234567` as `1,234,567`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}
