//! Long texts of servers, cut into pages of the terminal's size.

use crate::cli::text::printable_lines;

/// Prefix of each line of foreign text. No line of our own starts with it.
pub(super) const MARGIN: &str = "    │ ";

/// The size of a page in lines and letters, without the margin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PageSize {
    pub(super) lines: usize,
    pub(super) letters: usize,
}

impl PageSize {
    /// Of a terminal. Leaves room for the line that asks whether to go on, and for our own first line.
    pub(super) fn of_terminal(rows: u16, columns: u16) -> Self {
        let margin = MARGIN.chars().count();
        Self {
            lines: usize::from(rows).saturating_sub(3).max(5),
            letters: usize::from(columns).saturating_sub(margin).max(20),
        }
    }
}

/// The pages of a text, escaped and with a margin on each line. There is at least one.
pub(super) fn pages(text: &str, size: PageSize) -> Vec<String> {
    let printable = printable_lines(text);
    let mut lines = Vec::new();
    for line in printable.lines() {
        let letters: Vec<char> = line.chars().collect();
        if letters.is_empty() {
            lines.push(MARGIN.to_owned());
        }
        lines.extend(letters.chunks(size.letters).map(|part| format!("{MARGIN}{}", part.iter().collect::<String>())));
    }
    let pages: Vec<_> = lines.chunks(size.lines).map(|page| page.join("\n")).collect();
    if pages.is_empty() { vec![MARGIN.to_owned()] } else { pages }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_as_large_as_the_terminal() {
        let size = PageSize { lines: 2, letters: 4 };
        assert_eq!(pages("", size), [MARGIN]);
        assert_eq!(pages("abcdef\n\ngh", size), ["    │ abcd\n    │ ef", "    │ \n    │ gh"]);
        let escaped = pages("\u{1b}[2J", PageSize { lines: 9, letters: 99 });
        assert!(escaped.len() == 1 && !escaped[0].contains('\u{1b}'), "{escaped:?}");
        assert_eq!(PageSize::of_terminal(0, 0), PageSize { lines: 5, letters: 20 });
    }
}
