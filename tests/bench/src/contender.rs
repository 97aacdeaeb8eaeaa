//! The servers that are compared: the native server, and Portcullis with each of its meters.

use std::fmt;

/// One of the compared servers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Contender {
    /// rmcp without a sandbox.
    Native,
    /// Portcullis counting fuel, its default.
    Fuel,
    /// Portcullis counting CPU time.
    Ticks,
}

impl Contender {
    /// All contenders, in the order of the table's columns and of each round.
    pub(crate) const ALL: [Self; 3] = [Self::Native, Self::Fuel, Self::Ticks];

    /// The name under which the tool of the bench plugin is exposed.
    pub(crate) fn tool(self, name: &str) -> String {
        match self {
            Self::Native => name.to_owned(),
            Self::Fuel | Self::Ticks => format!("bench__{name}"),
        }
    }

    /// The value of `metering` in the configuration; none for the native server, which has no meter.
    pub(crate) fn metering(self) -> Option<&'static str> {
        match self {
            Self::Native => None,
            Self::Fuel => Some("fuel"),
            Self::Ticks => Some("ticks"),
        }
    }
}

impl fmt::Display for Contender {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Native => "native",
            Self::Fuel => "portcullis (fuel)",
            Self::Ticks => "portcullis (ticks)",
        })
    }
}
