//! The report for a terminal.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};

use crate::contender::Contender;
use crate::grid::Grid;
use crate::report::{Report, Row, Target, Unit};
use crate::unit::{amount, times};

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Red.on_default();

/// Widths of the columns: the measured quantity, a figure, its ratio with the mark.
const WHAT: usize = 36;
const FIGURE: usize = 12;
const RATIO: usize = 9;

/// Prints to stdout; colours only where a terminal shows them.
pub(crate) fn print(report: &Report) -> io::Result<()> {
    write(&mut anstream::stdout().lock(), report)
}

fn write(out: &mut impl Write, report: &Report) -> io::Result<()> {
    let load = report.load.map(|load| format!(", load {load:.1} before the run")).unwrap_or_default();
    let kind = if report.quick { ", quick" } else { "" };
    writeln!(out)?;
    writeln!(out, "{BOLD}Portcullis beside native rmcp{BOLD:#} {DIM}({} cores{load}{kind}){DIM:#}", report.cores)?;
    writeln!(out)?;
    write!(out, "{:WHAT$}", "")?;
    let shown = report.shown();
    for &contender in &shown {
        let width = if contender == Contender::Native { FIGURE } else { FIGURE + RATIO };
        write!(out, "{:>width$}", contender.to_string())?;
    }
    writeln!(out, "   target")?;
    let mut section = "";
    for row in &report.rows {
        if row.section != section {
            section = &row.section;
            writeln!(out, "{BOLD}{section}{BOLD:#}")?;
        }
        write_row(out, row, &shown)?;
    }
    report.grids.iter().try_for_each(|grid| write_grid(out, grid))?;
    for (heading, style, lines) in [("Notes", DIM, &report.notes), ("Failed", BAD, &report.failures)] {
        if !lines.is_empty() {
            writeln!(out, "\n{BOLD}{heading}{BOLD:#}")?;
            lines.iter().try_for_each(|line| writeln!(out, "  {style}{line}{style:#}"))?;
        }
    }
    Ok(())
}

fn write_row(out: &mut impl Write, row: &Row, shown: &[Contender]) -> io::Result<()> {
    write!(out, "  {:width$}", row.what, width = WHAT - 2)?;
    for &contender in shown {
        let column = contender as usize;
        let figure = row.figures[column].map_or_else(|| "-".to_owned(), |figure| amount(figure, row.unit));
        write!(out, "{figure:>FIGURE$}")?;
        if contender != Contender::Native {
            let ratio = row.ratios[column].map(times).unwrap_or_default();
            let (mark, style) = match row.met(column) {
                Some(true) => ("✓", GOOD),
                Some(false) => ("✗", BAD),
                None => (" ", DIM),
            };
            write!(out, "{style}{ratio:>width$} {mark}{style:#}", width = RATIO - 2)?;
        }
    }
    let target = row.target.map(|target| wanted(target, row.unit)).unwrap_or_default();
    writeln!(out, "   {DIM}{target}{DIM:#}")
}

fn write_grid(out: &mut impl Write, grid: &Grid) -> io::Result<()> {
    writeln!(out, "\n{BOLD}{}{BOLD:#}", grid.title)?;
    let cells = grid.cells();
    let width = |column: usize| cells.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..=grid.columns.len()).map(width).collect();
    for line in &cells {
        let cells = line.iter().zip(&widths).map(|(cell, &width)| format!("{cell:>width$}"));
        writeln!(out, "  {}", cells.collect::<Vec<_>>().join("  "))?;
    }
    Ok(())
}

pub(crate) fn wanted(target: Target, unit: Unit) -> String {
    match target {
        Target::RatioAtMost(ratio) => format!("≤ {ratio}x"),
        Target::RatioAtLeast(ratio) => format!("≥ {ratio}x"),
        Target::AtMost(figure) => format!("≤ {}", amount(figure, unit)),
        Target::AtLeast(figure) => format!("≥ {}", amount(figure, unit)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_shows_figures_ratios_and_marks() {
        let mut report = Report::new(true);
        let samples = [vec![100.0], vec![], vec![], vec![160.0], vec![149.0]];
        report.row("echo", "p50", Unit::Microseconds, samples, Some(Target::RatioAtMost(1.5)));
        let samples = [vec![5.0], vec![], vec![], vec![39.96], vec![]];
        report.row("memory", "idle", Unit::Mebibytes, samples, Some(Target::AtMost(40.0)));
        let mut bytes = Vec::new();
        let text = write(&mut anstream::StripStream::new(&mut bytes), &report)
            .map(|()| String::from_utf8_lossy(&bytes).into_owned())
            .unwrap_or_default();
        let words = |start: &str| -> Vec<String> {
            let line = text.lines().find(|line| line.trim_start().starts_with(start)).unwrap_or_default();
            line.split_whitespace().map(String::from).collect()
        };
        assert_eq!(words("p50").join(" "), "p50 100 µs 160 µs 1.60x ✗ 149 µs 1.49x ✓ ≤ 1.5x");
        assert_eq!(words("idle").join(" "), "idle 5.00 MiB 40.0 MiB 7.99x ✓ - ≤ 40.0 MiB");
    }
}
