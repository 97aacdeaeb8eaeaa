//! Long texts of servers, cut into pages of the terminal's size.

use crate::cli::frame::{MARGIN, framed, wrapped};

/// The fewest lines of a page.
const MIN_LINES: usize = 5;
/// Lines of the terminal beside a page: the one that asks whether to go on, and our own before it.
const OWN_LINES: usize = 3;

/// The pages of a text at a terminal of this size, in lines and columns. There is at least one; without a terminal, exactly
/// one.
pub(super) fn pages(text: &str, terminal: Option<(usize, usize)>) -> Vec<String> {
    let framed = framed(text);
    let (rows, columns) = terminal.map_or((usize::MAX, None), |(rows, columns)| (rows, Some(columns)));
    let text = wrapped(&framed, columns);
    let lines: Vec<_> = text.lines().collect();
    let pages = lines.chunks(rows.saturating_sub(OWN_LINES).max(MIN_LINES)).map(|page| page.join("\n"));
    let pages: Vec<_> = pages.collect();
    if pages.is_empty() { vec![MARGIN.to_owned()] } else { pages }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_as_large_as_the_terminal() {
        assert_eq!(pages("", Some((8, 80))), [MARGIN]);
        assert_eq!(
            pages("ab cd\n\ngh\nij\nkl", Some((0, 10))),
            ["    │ ab\n    │ cd\n    │ \n    │ gh\n    │ ij", "    │ kl"]
        );
        assert_eq!(pages(&"x\n".repeat(100), Some((28, 80))).len(), 4);
        assert_eq!(pages(&"x\n".repeat(100), None).len(), 1);
    }
}
