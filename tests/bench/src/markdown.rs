//! The report as a table in a Markdown file, between two comments.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::contender::Contender;
use crate::grid::Grid;
use crate::report::{Report, Row, Unit};
use crate::svg::Picture;
use crate::table::wanted;
use crate::unit::{amount, times};

const BEGIN: &str = "<!-- bench:begin -->";
const END: &str = "<!-- bench:end -->";

/// Replaces what is between the comments of the file.
pub(crate) fn update(report: &Report, pictures: &[Picture], file: &Path) -> Result<()> {
    let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let beside = file.parent().unwrap_or(Path::new(""));
    let grids: String = report.grids.iter().map(grid).collect();
    let new = format!("{}{grids}{}", table(report), links(pictures, beside));
    let text = replaced(&text, &new)
        .with_context(|| format!("{} has no line `{BEGIN}` with a line `{END}` after it", file.display()))?;
    fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
}

fn replaced(text: &str, table: &str) -> Option<String> {
    let (before, rest) = text.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n{table}{END}{after}"))
}

/// The pictures that lie below the folder of the file.
fn links(pictures: &[Picture], beside: &Path) -> String {
    let links = pictures.iter().filter_map(|picture| {
        let path = picture.file.strip_prefix(beside).ok().filter(|path| path.is_relative())?;
        Some(format!("\n![{}]({})\n", picture.says, path.display()))
    });
    links.collect()
}

/// One line per row that is not a detail. Portcullis' default meter stands for Portcullis.
fn table(report: &Report) -> String {
    let mut text = String::from("| | native | yardstick | Portcullis | ratio | target |\n|---|--:|--:|--:|--:|--:|\n");
    let mut section = "";
    for row in report.rows.iter().filter(|row| !row.detail) {
        let is_new = row.section != section;
        section = &row.section;
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}", line(row, is_new));
    }
    text
}

/// A table of its own, below its title.
fn grid(grid: &Grid) -> String {
    let mut lines: Vec<String> = grid.cells().iter().map(|cells| format!("| {} |", cells.join(" | "))).collect();
    lines.insert(1, format!("|---|{}", "--:|".repeat(grid.columns.len())));
    let title = grid.title.chars().enumerate().map(|(at, c)| if at == 0 { c.to_ascii_uppercase() } else { c });
    format!("\n{}:\n\n{}\n", title.collect::<String>(), lines.join("\n"))
}

fn line(row: &Row, is_new: bool) -> String {
    let figure = |contender: Contender| row.figures[contender as usize].map(|figure| amount(figure, row.unit));
    let ours = Contender::Fuel as usize;
    let yardstick = figure(Contender::Ordinary).or(figure(Contender::Floor));
    let ratio = row.ratios[ours].filter(|_| row.unit != Unit::Times).map(times);
    let target = row.target.map(|target| match row.met(ours) {
        Some(false) => format!("{}, missed", wanted(target, row.unit)),
        _ => wanted(target, row.unit),
    });
    let what = row.what.trim_start();
    // The first row of a section names it.
    let name = if is_new { format!("**{}**: {what}", row.section) } else { what.to_owned() };
    let cells = [Some(name), figure(Contender::Native), yardstick, figure(Contender::Fuel), ratio, target];
    let cells: Vec<String> = cells.into_iter().map(Option::unwrap_or_default).collect();
    format!("| {} |", cells.join(" | "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Target;

    #[test]
    fn only_what_is_between_the_comments_is_replaced() {
        let text = format!("a\n{BEGIN}\nold\n{END}\nb\n");
        let new = replaced(&text, "new\n");
        assert_eq!(new, Some(format!("a\n{BEGIN}\nnew\n{END}\nb\n")));
        assert_eq!(replaced(&new.unwrap_or_default(), "old\n"), Some(text));
        assert_eq!(replaced(&format!("{END} {BEGIN}"), "new"), None);
        assert_eq!(replaced("nothing", "new"), None);
    }

    #[test]
    fn pictures_are_named_by_their_way_from_the_file() {
        let picture = |file: &str| Picture { says: "Load", file: file.into() };
        let pictures = [picture("docs/pictures/load.svg"), picture("/elsewhere/load.svg")];
        assert_eq!(links(&pictures, Path::new("docs")), "\n![Load](pictures/load.svg)\n");
    }

    #[test]
    fn a_row_is_a_line_unless_it_is_a_detail() {
        let mut report = Report::new(true);
        let samples = [vec![100.0], vec![120.0], vec![], vec![160.0], vec![]];
        report.row("echo", "p50", Unit::Microseconds, samples.clone(), Some(Target::RatioAtMost(1.5)));
        report.row("echo", "  p99", Unit::Microseconds, samples.clone(), None).detail();
        report.row("echo", "  CPU", Unit::Microseconds, samples, None);
        let lines: Vec<String> = table(&report).lines().skip(2).map(String::from).collect();
        assert_eq!(
            lines,
            [
                "| **echo**: p50 | 100 µs | 120 µs | 160 µs | 1.60x | ≤ 1.5x, missed |",
                "| CPU | 100 µs | 120 µs | 160 µs | 1.60x |  |"
            ]
        );
    }
}
