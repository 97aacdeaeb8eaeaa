//! Text of others at a terminal: behind a margin, in every line of the screen, so that nothing of it can be taken for ours.

use super::text::printable_lines;
use std::borrow::Cow;
use std::os::fd::AsFd;
use textwrap::{Options, WordSplitter, WrapAlgorithm};

/// Prefix of each line of text of others. No line of our own starts with it.
pub(super) const MARGIN: &str = "    │ ";
/// Prefix of what does not fit into a line of ours, which may quote others.
const INDENT: &str = "      ";
/// Columns of the narrowest terminal.
const MIN_COLUMNS: usize = 10;

/// Lines and columns of a terminal; none if it is none, or does not say.
pub(super) fn size(terminal: impl AsFd) -> Option<(usize, usize)> {
    let size = rustix::termios::tcgetwinsize(terminal).ok()?;
    (size.ws_row > 0 && size.ws_col > 0).then(|| (size.ws_row.into(), size.ws_col.into()))
}

/// A text of others, escaped, each line behind the margin.
pub(super) fn framed(text: &str) -> String {
    printable_lines(text).lines().map(|line| format!("{MARGIN}{line}")).collect::<Vec<_>>().join("\n")
}

/// Text of ours and of others, of which no line is longer than this many columns. What does not fit into a line goes on behind the
/// margin, or indented.
pub(super) fn wrapped(text: &str, columns: Option<usize>) -> Cow<'_, str> {
    let Some(columns) = columns.map(|columns| columns.max(MIN_COLUMNS)) else { return text.into() };
    if text.lines().all(|line| textwrap::core::display_width(line) <= columns) {
        return text.into();
    }
    let lines = text.lines().flat_map(|line| {
        let (begin, text, rest) = match line.strip_prefix(MARGIN) {
            Some(text) => (MARGIN, text, MARGIN),
            None => ("", line, INDENT),
        };
        let options = Options::new(columns).initial_indent(begin).subsequent_indent(rest);
        // Words stay whole where they fit; hyphens in names of files and tools are no places to break.
        textwrap::wrap(text, options.word_splitter(WordSplitter::NoHyphenation).wrap_algorithm(WrapAlgorithm::FirstFit))
    });
    lines.collect::<Vec<_>>().join("\n").into()
}

/// What somebody says, after our own words about who it is.
pub(super) fn said(by: &str, text: &str, columns: Option<usize>) -> String {
    let text = printable_lines(text);
    let mut lines = text.lines();
    let first = format!("{by}{}", lines.next().unwrap_or_default());
    let all: Vec<_> = std::iter::once(first).chain(lines.map(|line| format!("{MARGIN}{line}"))).collect();
    wrapped(&all.join("\n"), columns).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As a terminal of this width shows it.
    fn shown(text: &str, columns: usize) -> Vec<String> {
        let mut lines = vec![];
        for line in text.lines() {
            let (mut row, mut width) = (String::new(), 0);
            for letter in line.chars() {
                let wide = textwrap::core::display_width(&letter.to_string());
                if width + wide > columns {
                    lines.push(std::mem::take(&mut row));
                    width = 0;
                }
                row.push(letter);
                width += wide;
            }
            lines.push(row);
        }
        lines
    }

    #[test]
    fn no_line_of_others_begins_at_the_edge() {
        let forged = "agent> approve 1 always";
        for columns in [MIN_COLUMNS, 27, 40, 80, 81] {
            for pad in ["x", " ", "字", "-", "x "] {
                for length in 0..=2 * columns {
                    let text = format!("{}{forged}", pad.repeat(length));
                    let framed = framed(&text);
                    for line in shown(&wrapped(&framed, Some(columns)), columns) {
                        assert!(line.starts_with(MARGIN.trim_end()), "{columns} {length}: {line:?}");
                    }
                    let ours = format!("[1] shop: asks you about {text}");
                    for line in shown(&wrapped(&ours, Some(columns)), columns).iter().skip(1) {
                        assert!(line.starts_with(INDENT), "{columns} {length}: {line:?}");
                    }
                }
            }
        }
        assert!(
            framed("a\n[3] approve this\u{1b}[2J")
                .lines()
                .all(|line| line.starts_with(MARGIN) && !line.contains('\u{1b}'))
        );
    }

    #[test]
    fn words_and_indentation_stay() {
        let text = framed("{\n  \"title\": \"one two\"\n}\n\nthe end-of-line");
        assert_eq!(wrapped(&text, None), text);
        assert_eq!(wrapped(&text, Some(80)), text);
        let narrow = wrapped("    │ one two three four five-six seven", Some(28));
        assert_eq!(narrow, "    │ one two three four\n    │ five-six seven");
        assert_eq!(said("shop asks: ", "Did you?\nAgree? [y/N]", Some(80)), "shop asks: Did you?\n    │ Agree? [y/N]");
    }
}
