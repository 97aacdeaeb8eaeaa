//! The servers that are compared: the native server, Portcullis with each of its meters, and two yardsticks.

use std::fmt;

/// One of the compared servers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Contender {
    /// rmcp without a sandbox, as fast as it can be made to run.
    Native,
    /// rmcp as its documentation shows it: over stdio, tokio's thread pool reads and writes.
    Ordinary,
    /// hyper alone, which answers every HTTP request with the same bytes: no server can be faster.
    Floor,
    /// Portcullis counting fuel, its default.
    Fuel,
    /// Portcullis counting CPU time.
    Ticks,
}

impl Contender {
    /// All contenders, in the order of the table's columns and of each round.
    pub(crate) const ALL: [Self; 5] = [Self::Native, Self::Ordinary, Self::Floor, Self::Fuel, Self::Ticks];
    /// Those that offer all tools of the benchmark and differ in speed.
    pub(crate) const COMPARED: [Self; 3] = [Self::Native, Self::Fuel, Self::Ticks];

    /// Whether this is Portcullis, which is judged; the others are there to compare with.
    pub(crate) fn is_ours(self) -> bool {
        self.metering().is_some()
    }

    /// The name under which the tool of the bench plugin is exposed.
    pub(crate) fn tool(self, name: &str) -> String {
        match self {
            Self::Native | Self::Ordinary | Self::Floor => name.to_owned(),
            Self::Fuel | Self::Ticks => format!("bench__{name}"),
        }
    }

    /// The value of `metering` in the configuration; none for the others, which have no meter.
    pub(crate) fn metering(self) -> Option<&'static str> {
        match self {
            Self::Native | Self::Ordinary | Self::Floor => None,
            Self::Fuel => Some("fuel"),
            Self::Ticks => Some("ticks"),
        }
    }
}

impl fmt::Display for Contender {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Native => "native",
            Self::Ordinary => "ordinary rmcp",
            Self::Floor => "bare hyper",
            Self::Fuel => "portcullis (fuel)",
            Self::Ticks => "portcullis (ticks)",
        })
    }
}
