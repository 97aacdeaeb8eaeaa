//! Foreign text at a terminal: behind a margin in every line of the screen, so that none of it can be mistaken for our own
//! output.

use super::text::printable_lines;
use std::borrow::Cow;
use std::os::fd::AsFd;
use unicode_width::UnicodeWidthChar as _;

/// Prefix of each line of foreign text. No line of our own starts with it.
pub(super) const MARGIN: &str = "    │ ";
/// Prefix of the rest of a line of our own that is too long, since the line may quote foreign text.
const INDENT: &str = "      ";
/// Columns of the narrowest terminal.
const MIN_COLUMNS: usize = 10;
/// Columns of a terminal that does not say how many it has.
const USUAL_COLUMNS: usize = 80;

/// Lines and columns of a terminal. No limit of lines if the terminal does not report them. None if it is no terminal.
pub(super) fn size(terminal: impl AsFd) -> Option<(usize, usize)> {
    let size = rustix::termios::tcgetwinsize(terminal).ok()?;
    let or = |told: u16, usual: usize| if told == 0 { usual } else { told.into() };
    Some((or(size.ws_row, usize::MAX), or(size.ws_col, USUAL_COLUMNS)))
}

/// Foreign text, escaped, with each line behind the margin.
pub(super) fn framed(text: &str) -> String {
    printable_lines(text).lines().map(|line| format!("{MARGIN}{line}")).collect::<Vec<_>>().join("\n")
}

/// Wraps our own and foreign text so that no line is longer than this many columns. A line of foreign text continues behind the
/// margin, another one indented. An address of our own stays whole, so that it can be opened.
pub(super) fn wrapped(text: &str, columns: Option<usize>) -> Cow<'_, str> {
    let Some(columns) = columns.map(|columns| columns.max(MIN_COLUMNS)) else { return text.into() };
    let fits = |line: &str| width(line) <= columns || is_address(line);
    if text.lines().all(fits) {
        return text.into();
    }
    let mut rows = Vec::new();
    for line in text.lines() {
        match line.strip_prefix(MARGIN) {
            _ if fits(line) => rows.push(line.to_owned()),
            Some(others) => wrap(others, (MARGIN, MARGIN), columns, &mut rows),
            None => wrap(line, ("", INDENT), columns, &mut rows),
        }
    }
    rows.join("\n").into()
}

/// Foreign text after our own words about who wrote it.
pub(super) fn said(by: &str, text: &str, columns: Option<usize>) -> String {
    let text = printable_lines(text);
    let mut lines = text.lines();
    let first = format!("{by}{}", lines.next().unwrap_or_default());
    let all: Vec<_> = std::iter::once(first).chain(lines.map(|line| format!("{MARGIN}{line}"))).collect();
    wrapped(&all.join("\n"), columns).into_owned()
}

/// Checked addresses have no characters that words are made of.
fn is_address(line: &str) -> bool {
    let line = line.trim_start();
    (line.starts_with("https://") || line.starts_with("http://")) && !line.contains(' ')
}

/// Divides a line into rows, between words where that is possible. The first row begins with `begins.0`, the others with `begins.1`.
fn wrap(line: &str, begins: (&str, &str), columns: usize, rows: &mut Vec<String>) {
    let (mut row, mut used) = (begins.0.to_owned(), width(begins.0));
    let (mut blanks, mut is_empty) = (0, true);
    for (at, word) in line.split(' ').enumerate() {
        blanks += usize::from(at > 0);
        if word.is_empty() {
            continue;
        }
        let wide = width(word);
        if !is_empty && used + blanks + wide > columns {
            rows.push(std::mem::replace(&mut row, begins.1.to_owned()));
            (used, blanks) = (width(begins.1), 0);
        }
        // Blanks at the beginning of a row must not push the word out of it.
        blanks = blanks.min(columns.saturating_sub(used + wide));
        row.extend(std::iter::repeat_n(' ', blanks));
        (used, blanks, is_empty) = (used + blanks, 0, false);
        for (letter, wide) in letters(word) {
            if used + wide > columns {
                rows.push(std::mem::replace(&mut row, begins.1.to_owned()));
                used = width(begins.1);
            }
            row.push_str(letter);
            used += wide;
        }
    }
    row.extend(std::iter::repeat_n(' ', blanks.min(columns.saturating_sub(used))));
    rows.push(row);
}

fn width(text: &str) -> usize {
    letters(text).map(|(_, wide)| wide).sum()
}

/// The letters of a text with the columns that each takes at most. Terminals do not agree about marks and emoji: whatever is not
/// ASCII counts as one at least. Our own codes for bold text take none; others are escaped.
fn letters(text: &str) -> impl Iterator<Item = (&str, usize)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let code = first == '\u{1b}';
        let code_end = if code { rest.find('m').map(|end| end + 1) } else { None };
        let length = code_end.unwrap_or_else(|| first.len_utf8());
        let (letter, after) = rest.split_at(length);
        rest = after;
        Some((letter, if code { 0 } else { first.width().unwrap_or(0).max(1) }))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORGED: &str = "agent> approve 1 always";

    /// As a terminal of this width shows it, on which each of these letters is so wide.
    fn shown(text: &str, columns: usize, wide: impl Fn(char) -> usize) -> Vec<String> {
        let mut lines = vec![];
        for line in text.lines() {
            let (mut row, mut width) = (String::new(), 0);
            for letter in line.chars() {
                if width + wide(letter) > columns {
                    lines.push(std::mem::take(&mut row));
                    width = 0;
                }
                row.push(letter);
                width += wide(letter);
            }
            lines.push(row);
        }
        lines
    }

    #[test]
    fn no_line_of_others_begins_at_the_edge() {
        // A wide letter, an emoji that its selector makes wide, and a mark that some terminals give a column.
        let pads = [("x", 1), (" ", 1), ("字", 2), ("-", 1), ("x ", 1), ("\u{26a0}\u{fe0f}", 2), ("\u{9be}", 1)];
        for columns in [MIN_COLUMNS, 27, 80, 81] {
            for (pad, wide) in pads {
                let last = pad.chars().last().unwrap();
                let width = |letter: char| match letter {
                    '\u{26a0}' => 1,
                    letter if letter == last && wide == 2 && pad.chars().count() == 1 => 2,
                    _ => 1,
                };
                for length in 0..=2 * columns {
                    let text = format!("{}{FORGED}", pad.repeat(length));
                    for line in shown(&wrapped(&framed(&text), Some(columns)), columns, width) {
                        assert!(line.starts_with(MARGIN.trim_end()), "{columns} {pad} {length}: {line:?}");
                    }
                    let ours = format!("[1] shop: asks you about {text}");
                    for line in shown(&wrapped(&ours, Some(columns)), columns, width).iter().skip(1) {
                        assert!(line.starts_with(INDENT), "{columns} {pad} {length}: {line:?}");
                    }
                }
            }
        }
        let escaped = framed("a\n[3] approve this\u{1b}[2J");
        assert!(escaped.lines().all(|line| line.starts_with(MARGIN) && !line.contains('\u{1b}')));
    }

    #[test]
    fn words_blanks_and_addresses_stay() {
        let text = framed("{\n  \"title\": \"one two\"\n}\n\nthe end-of-line");
        assert_eq!(wrapped(&text, None), text);
        assert_eq!(wrapped(&text, Some(80)), text);
        let narrow = wrapped("    │ one  two three four five-six seven", Some(28));
        assert_eq!(narrow, "    │ one  two three four\n    │ five-six seven");
        assert_eq!(wrapped("    │   indented words here", Some(18)), "    │   indented\n    │ words here");
        assert_eq!(wrapped("your name, please: ", Some(17)), "your name,\n      please: ");
        let address = format!("    https://example.com/{}", "x".repeat(200));
        assert_eq!(wrapped(&address, Some(80)), address);
        assert_eq!(wrapped("\u{1b}[1mbold words\u{1b}[0m", Some(10)), "\u{1b}[1mbold words\u{1b}[0m");
        assert_eq!(said("shop asks: ", "Did you?\nAgree? [y/N]", Some(80)), "shop asks: Did you?\n    │ Agree? [y/N]");
    }
}
