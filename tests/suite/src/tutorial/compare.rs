//! Compares what a page shows with what was printed.

use std::fmt::Write as _;

const ANY: &str = "...";

/// An error shows the lines that agree, then what the page shows from there on, and what was printed.
pub(super) fn compare(shown: &[String], printed: &str) -> Result<(), String> {
    let printed: Vec<_> = printed.trim_end().lines().map(str::trim_end).collect();
    let shown: Vec<_> = shown.iter().map(|line| line.trim_end()).collect();
    let mut best = (0, 0);
    if lines_match(&shown, &printed, (0, 0), &mut best) {
        return Ok(());
    }
    let mut said = String::new();
    for (mark, lines) in [("  ", &shown[..best.0]), ("- ", &shown[best.0..]), ("+ ", &printed[best.1..])] {
        for line in lines {
            let _ = writeln!(said, "{mark}{line}");
        }
    }
    Err(format!("{said}(- the page shows, + it printed)"))
}

/// Whether the lines match from here on. `best` becomes how far both agree at most.
fn lines_match(shown: &[&str], printed: &[&str], at: (usize, usize), best: &mut (usize, usize)) -> bool {
    *best = at.max(*best);
    let (line, end) = (shown.get(at.0), printed.len());
    match line {
        None => at.1 == end,
        // The first place where the rest can follow is as good as any later one.
        Some(&ANY) => (at.1..=end).any(|next| lines_match(shown, printed, (at.0 + 1, next), best)),
        Some(line) => {
            let is_same = printed.get(at.1).is_some_and(|printed| line_matches(line, printed));
            is_same && lines_match(shown, printed, (at.0 + 1, at.1 + 1), best)
        }
    }
}

fn line_matches(shown: &str, printed: &str) -> bool {
    let Some((before, after)) = shown.split_once(ANY) else { return shown == printed };
    let Some(rest) = printed.strip_prefix(before) else { return false };
    let places = rest.char_indices().map(|(at, _)| at).chain([rest.len()]);
    places.into_iter().any(|at| line_matches(after, &rest[at..]))
}
