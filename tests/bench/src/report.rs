//! Measured figures and their targets.

use serde::{Deserialize, Serialize};

use crate::contender::Contender;
use crate::grid::Grid;
use crate::percentile::percentile;
use crate::procfs;
pub(crate) use crate::unit::Unit;

/// Something for each contender, in the order of [`Contender::ALL`].
pub(crate) type Columns<T> = [T; Contender::ALL.len()];

/// The rounds of each contender, all equally many; none where a row does not apply or a contender failed.
pub(crate) type Samples = Columns<Vec<f64>>;

/// One figure per contender.
pub(crate) type Figures = Columns<Option<f64>>;

/// All results of one run.
#[derive(Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) cores: usize,
    /// Load average before the run; above zero, something else was running.
    pub(crate) load: Option<f64>,
    pub(crate) quick: bool,
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<Row>,
    #[serde(default)]
    pub(crate) grids: Vec<Grid>,
    pub(crate) notes: Vec<String>,
    /// Measurements that gave wrong answers or none.
    pub(crate) failures: Vec<String>,
}

/// One line of the table.
#[derive(Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) section: String,
    pub(crate) what: String,
    pub(crate) unit: Unit,
    /// The median of the rounds.
    pub(crate) figures: Figures,
    /// The best round.
    pub(crate) best: Figures,
    /// The median of the rounds' ratios to the base of the row: two servers that take turns share the noise of a round.
    pub(crate) ratios: Figures,
    pub(crate) target: Option<Target>,
    /// Left out of the short table in the documentation.
    pub(crate) detail: bool,
    /// The place of this row in a series that is drawn.
    pub(crate) point: Option<Point>,
}

/// A row that belongs to a series of rows, which differ in one quantity.
#[derive(Serialize, Deserialize, Clone, Copy)]
pub(crate) struct Point {
    pub(crate) series: Series,
    pub(crate) at: usize,
}

#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Series {
    /// Costs beside the native server, which have no order.
    Ratios,
    /// Calls per second by calls in flight.
    RateByLoad,
    /// CPU time per call by calls in flight.
    CpuByLoad,
    /// Time to start by plugins.
    StartByPlugins,
    /// Memory by plugins.
    MemoryByPlugins,
    /// Memory by open connections.
    MemoryByConnections,
}

/// The target of a row.
#[derive(Serialize, Deserialize, Clone, Copy)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Target {
    /// At most this many times the native figure.
    RatioAtMost(f64),
    /// At least this many times the native figure.
    RatioAtLeast(f64),
    /// At most this, in the row's unit.
    AtMost(f64),
    /// At least this, in the row's unit.
    AtLeast(f64),
}

/// A target that depends on the number of plugins: 1, 50, 200 or 1,000. Other numbers have none.
pub(crate) fn at_most(plugins: usize, targets: [f64; 4]) -> Option<Target> {
    let at = [1, 50, 200, 1_000].iter().position(|&known| known == plugins)?;
    targets.get(at).copied().map(Target::AtMost)
}

impl Report {
    pub(crate) fn new(quick: bool) -> Self {
        Self {
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            load: procfs::load(),
            quick,
            columns: Contender::ALL.iter().map(ToString::to_string).collect(),
            rows: Vec::new(),
            grids: Vec::new(),
            notes: Vec::new(),
            failures: Vec::new(),
        }
    }

    /// Adds a row. Ratios are to the native server.
    pub(crate) fn row(
        &mut self,
        section: &str,
        what: &str,
        unit: Unit,
        samples: Samples,
        target: Option<Target>,
    ) -> &mut Row {
        let base = samples[Contender::Native as usize].clone();
        let row = Row {
            section: section.into(),
            what: what.into(),
            unit,
            figures: [None; _],
            best: [None; _],
            ratios: [None; _],
            target,
            detail: false,
            point: None,
        };
        self.rows.push(row.with(samples, &base));
        let last = self.rows.len() - 1;
        &mut self.rows[last]
    }

    pub(crate) fn fail(&mut self, measurement: &str, contender: Contender, error: &anyhow::Error) {
        eprintln!("  {contender} failed: {error:#}");
        self.failures.push(format!("{measurement}, {contender}: {error:#}"));
    }

    /// The contenders with at least one figure.
    pub(crate) fn shown(&self) -> Vec<Contender> {
        let seen = |contender: &Contender| self.rows.iter().any(|row| row.figures[*contender as usize].is_some());
        Contender::ALL.into_iter().filter(seen).collect()
    }
}

impl Row {
    /// Fills in the figures from all rounds; `base` has the rounds that ratios are taken of.
    fn with(mut self, mut samples: Samples, base: &[f64]) -> Self {
        for (column, contender) in Contender::ALL.into_iter().enumerate() {
            let rounds = &mut samples[column];
            if contender != Contender::Native {
                let pairs = rounds.iter().zip(base).filter(|(_, base)| **base > 0.0);
                let mut ratios: Vec<f64> = pairs.map(|(figure, base)| figure / base).collect();
                self.ratios[column] = percentile(&mut ratios, 50.0);
            }
            self.figures[column] = percentile(rounds, 50.0);
            let best = if self.unit == Unit::PerSecond { rounds.last() } else { rounds.first() };
            self.best[column] = best.copied();
        }
        self
    }

    /// Leaves the row out of the short table.
    pub(crate) fn detail(&mut self) -> &mut Self {
        self.detail = true;
        self
    }

    /// Shows the row's ratio in the picture of the most important ones.
    pub(crate) fn compared(&mut self) -> &mut Self {
        self.at(Series::Ratios, 0)
    }

    /// Makes the row a point of a series.
    pub(crate) fn at(&mut self, series: Series, at: usize) -> &mut Self {
        self.point = Some(Point { series, at });
        self
    }

    /// Whether a column reaches the target; none if there is nothing to judge.
    pub(crate) fn met(&self, column: usize) -> Option<bool> {
        if !Contender::ALL[column].is_ours() {
            return None;
        }
        match self.target? {
            Target::RatioAtMost(limit) => Some(self.ratios[column]? <= limit),
            Target::RatioAtLeast(limit) => Some(self.ratios[column]? >= limit),
            Target::AtMost(limit) => Some(self.figures[column]? <= limit),
            Target::AtLeast(limit) => Some(self.figures[column]? >= limit),
        }
    }
}

/// The ratio of two measurements, round by round.
pub(crate) fn divided(samples: &Samples, by: &Samples) -> Samples {
    std::array::from_fn(|column| samples[column].iter().zip(&by[column]).map(|(figure, by)| figure / by).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_those_of_the_same_round() {
        let mut report = Report::new(true);
        let samples = [vec![10.0, 100.0, 20.0], vec![], vec![], vec![20.0, 110.0, 40.0], vec![5.0, 50.0, 10.0]];
        let row = report.row("a", "b", Unit::Microseconds, samples, Some(Target::RatioAtMost(1.0)));
        assert_eq!(row.figures, [Some(20.0), None, None, Some(40.0), Some(10.0)]);
        assert_eq!(row.best, [Some(10.0), None, None, Some(20.0), Some(5.0)]);
        assert_eq!(row.ratios, [None, None, None, Some(2.0), Some(0.5)]);
        assert_eq!([3, 4, 0].map(|column| row.met(column)), [Some(false), Some(true), None]);
    }

    #[test]
    fn the_best_rate_is_the_highest() {
        let mut report = Report::new(true);
        let samples = [vec![1.0, 3.0, 2.0], vec![], vec![], vec![], vec![]];
        assert_eq!(report.row("a", "b", Unit::PerSecond, samples, None).best[0], Some(3.0));
    }
}
