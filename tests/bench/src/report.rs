//! Measured figures and their targets.

use serde::Serialize;

use crate::contender::Contender;
use crate::procfs;

/// One figure per contender; none where it does not apply or failed.
pub(crate) type Figures = [Option<f64>; Contender::ALL.len()];

/// All results of one run.
#[derive(Serialize)]
pub(crate) struct Report {
    pub(crate) cores: usize,
    /// Load average before the run; above zero, something else was running.
    pub(crate) load: Option<f64>,
    pub(crate) quick: bool,
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<Row>,
    pub(crate) notes: Vec<String>,
    /// Measurements that gave wrong answers or none.
    pub(crate) failures: Vec<String>,
}

/// One line of the table.
#[derive(Serialize)]
pub(crate) struct Row {
    pub(crate) section: String,
    pub(crate) what: String,
    pub(crate) unit: Unit,
    /// One figure per column.
    pub(crate) figures: Figures,
    pub(crate) target: Option<Target>,
}

#[derive(Serialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Unit {
    Microseconds,
    Milliseconds,
    PerSecond,
    Mebibytes,
    Kibibytes,
    /// The ratio to another figure.
    Times,
}

/// The target of a row.
#[derive(Serialize, Clone, Copy)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Target {
    /// At most this many times the native figure.
    RatioAtMost(f64),
    /// At least this many times the native figure.
    RatioAtLeast(f64),
    /// At most this, in the row's unit.
    AtMost(f64),
}

impl Report {
    pub(crate) fn new(quick: bool) -> Self {
        Self {
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            load: procfs::load(),
            quick,
            columns: Contender::ALL.iter().map(ToString::to_string).collect(),
            rows: Vec::new(),
            notes: Vec::new(),
            failures: Vec::new(),
        }
    }

    pub(crate) fn row(&mut self, section: &str, what: &str, unit: Unit, figures: Figures, target: Option<Target>) {
        self.rows.push(Row { section: section.into(), what: what.into(), unit, figures, target });
    }

    pub(crate) fn fail(&mut self, measurement: &str, contender: Contender, error: &anyhow::Error) {
        eprintln!("  {contender} failed: {error:#}");
        self.failures.push(format!("{measurement}, {contender}: {error:#}"));
    }
}

impl Row {
    /// A column's figure divided by the native one.
    pub(crate) fn ratio(&self, column: usize) -> Option<f64> {
        match (self.figures[column], self.figures[Contender::Native as usize]) {
            (Some(figure), Some(native)) if column != Contender::Native as usize && native > 0.0 => {
                Some(figure / native)
            }
            _ => None,
        }
    }

    /// Whether a column reaches the target; none if there is nothing to judge.
    pub(crate) fn met(&self, column: usize) -> Option<bool> {
        if column == Contender::Native as usize {
            return None;
        }
        match self.target? {
            Target::RatioAtMost(limit) => Some(self.ratio(column)? <= limit),
            Target::RatioAtLeast(limit) => Some(self.ratio(column)? >= limit),
            Target::AtMost(limit) => Some(self.figures[column]? <= limit),
        }
    }
}
