//! Units of figures, and figures as text.

use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Unit {
    Microseconds,
    Milliseconds,
    /// Calls or chunks per second: the more, the better.
    PerSecond,
    /// Wake-ups per second: the fewer, the better.
    WakeUps,
    Mebibytes,
    Kibibytes,
    /// A plain number, such as that of connections.
    Number,
    /// The ratio to another figure.
    Times,
}

/// A figure with three or four significant digits and its unit.
pub(crate) fn amount(figure: f64, unit: Unit) -> String {
    match unit {
        Unit::Microseconds if figure >= 10_000.0 => format!("{} ms", number(figure / 1000.0)),
        Unit::Microseconds => format!("{} µs", number(figure)),
        Unit::Milliseconds if figure >= 1000.0 => format!("{} s", number(figure / 1000.0)),
        Unit::Milliseconds => format!("{} ms", number(figure)),
        Unit::PerSecond if figure >= 1000.0 => format!("{} k/s", number(figure / 1000.0)),
        Unit::PerSecond | Unit::WakeUps => format!("{} /s", number(figure)),
        Unit::Number => format!("{figure:.0}"),
        Unit::Mebibytes => format!("{} MiB", number(figure)),
        Unit::Kibibytes => format!("{} KiB", number(figure)),
        Unit::Times => times(figure),
    }
}

pub(crate) fn times(ratio: f64) -> String {
    format!("{}x", number(ratio))
}

fn number(figure: f64) -> String {
    let decimals = match figure {
        ..10.0 => 2,
        ..100.0 => 1,
        _ => 0,
    };
    format!("{figure:.decimals$}")
}
