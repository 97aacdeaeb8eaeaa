//! A table of things that are compared with the first of them: a line for each, a column for each quantity.

use serde::{Deserialize, Serialize};

use crate::unit::{Unit, amount, times};

#[derive(Serialize, Deserialize)]
pub(crate) struct Grid {
    pub(crate) title: String,
    pub(crate) columns: Vec<Column>,
    pub(crate) lines: Vec<Line>,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) unit: Unit,
    /// Figures are shown with their ratio to that of the first line.
    pub(crate) compared: bool,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Line {
    pub(crate) name: String,
    /// In the order of the columns; none where there is nothing to measure.
    pub(crate) figures: Vec<Option<f64>>,
    /// The most that each compared figure may be, as a multiple of that of the first line.
    pub(crate) at_most: Option<f64>,
}

impl Column {
    pub(crate) fn new(name: &str, unit: Unit) -> Self {
        Self { name: name.into(), unit, compared: false }
    }

    pub(crate) fn compared(self) -> Self {
        Self { compared: true, ..self }
    }
}

impl Grid {
    /// The names of the columns, then every line, each with its name first.
    pub(crate) fn cells(&self) -> Vec<Vec<String>> {
        let heading = std::iter::once(String::new()).chain(self.columns.iter().map(|column| column.name.clone()));
        let lines = self.lines.iter().enumerate().map(|(number, line)| {
            let cells = (0..self.columns.len()).map(|at| self.cell(number, at));
            std::iter::once(line.name.clone()).chain(cells).collect()
        });
        std::iter::once(heading.collect()).chain(lines).collect()
    }

    fn cell(&self, number: usize, at: usize) -> String {
        let figure = |line: &Line| line.figures.get(at).copied().flatten();
        let (line, column) = (&self.lines[number], &self.columns[at]);
        let Some(own) = figure(line) else { return "-".into() };
        let text = amount(own, column.unit);
        let base = figure(&self.lines[0]).filter(|base| column.compared && number > 0 && *base > 0.0);
        let Some(ratio) = base.map(|base| own / base) else { return text };
        let missed = |most| if ratio <= most { "" } else { ", missed" };
        let target = line.at_most.map(|most| format!(" ≤ {most}x{}", missed(most)));
        format!("{text}, {}{}", times(ratio), target.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_compared_with_the_first_line() {
        let line = |name: &str, size, p50, at_most| Line { name: name.into(), figures: vec![size, p50], at_most };
        let grid = Grid {
            title: String::new(),
            columns: vec![Column::new("size", Unit::Kibibytes), Column::new("p50", Unit::Microseconds).compared()],
            lines: vec![
                line("Rust", Some(200.0), Some(40.0), None),
                line("Go", None, Some(60.0), Some(2.0)),
                line("Python", Some(1.0), Some(400.0), Some(3.0)),
            ],
        };
        let expected = [
            ["", "size", "p50"],
            ["Rust", "200 KiB", "40.0 µs"],
            ["Go", "-", "60.0 µs, 1.50x ≤ 2x"],
            ["Python", "1.00 KiB", "400 µs, 10.0x ≤ 3x, missed"],
        ];
        assert_eq!(grid.cells(), expected);
    }
}
