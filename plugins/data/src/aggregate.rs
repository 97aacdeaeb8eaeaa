//! What is computed of many rows.

use std::collections::HashSet;

use portcullis_guest::ToolError;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::table::Row;
use crate::value::{kind, shown, total};

/// A file of different values would fill the memory with them.
const MOST_DISTINCT: usize = 100_000;

/// What to compute, such as `{"compute": "sum", "column": "price"}`. The result's column is called `sum_price`, or as `name` says.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Aggregate {
    pub(crate) compute: Function,
    /// Of which column; `count` without one counts rows, with one the values that are there.
    pub(crate) column: Option<String>,
    name: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Function {
    Count,
    Sum,
    Min,
    Max,
    Mean,
    /// The number of different values.
    Distinct,
}

impl Aggregate {
    pub(crate) fn name(&self) -> String {
        let function = match self.compute {
            Function::Count => "count",
            Function::Sum => "sum",
            Function::Min => "min",
            Function::Max => "max",
            Function::Mean => "mean",
            Function::Distinct => "distinct",
        };
        match (&self.name, &self.column) {
            (Some(name), _) => name.clone(),
            (None, Some(column)) => format!("{function}_{column}"),
            (None, None) => function.into(),
        }
    }
}

/// The state of an aggregate over the rows so far.
pub(crate) enum Sum {
    Count(u64),
    /// Whole numbers stay exact until they no longer fit.
    Whole(i64, u64),
    Float(f64, u64),
    Extreme(Value),
    Distinct(HashSet<String>),
}

impl Sum {
    pub(crate) fn new(function: Function) -> Self {
        match function {
            Function::Count => Self::Count(0),
            Function::Sum | Function::Mean => Self::Whole(0, 0),
            Function::Min | Function::Max => Self::Extreme(Value::Null),
            Function::Distinct => Self::Distinct(HashSet::new()),
        }
    }

    /// Takes a cell; `None` stands for the row itself. `distinct` counts the values that all groups keep.
    pub(crate) fn add(
        &mut self,
        aggregate: &Aggregate,
        cell: Option<&Value>,
        row: &Row,
        distinct: &mut usize,
    ) -> Result<(), ToolError> {
        if cell.is_some_and(Value::is_null) {
            return Ok(());
        }
        match (&mut *self, cell) {
            (Self::Count(count), _) => *count += 1,
            (_, None) => {}
            (Self::Extreme(extreme), Some(cell)) => {
                let better = match aggregate.compute {
                    Function::Min => total(cell, extreme).is_lt(),
                    _ => total(cell, extreme).is_gt(),
                };
                if extreme.is_null() || better {
                    *extreme = cell.clone();
                }
            }
            (Self::Distinct(seen), Some(cell)) => {
                if seen.insert(cell.to_string()) {
                    *distinct += 1;
                }
                if *distinct > MOST_DISTINCT {
                    return Err(ToolError::failed(format_args!(
                        "`{}` has more than {MOST_DISTINCT} different values; filter the rows first",
                        aggregate.name()
                    )));
                }
            }
            (Self::Whole(..) | Self::Float(..), Some(cell)) => self.add_number(aggregate, cell, row)?,
        }
        Ok(())
    }

    fn add_number(&mut self, aggregate: &Aggregate, cell: &Value, row: &Row) -> Result<(), ToolError> {
        let Some(number) = cell.as_f64() else {
            return Err(ToolError::failed(format_args!(
                "{}: {} ({}) is no number, so `{}` cannot be computed",
                row.place,
                shown(cell),
                kind(cell),
                aggregate.name()
            )));
        };
        *self = match *self {
            Self::Whole(sum, count) => match cell.as_i64().and_then(|whole| sum.checked_add(whole)) {
                Some(sum) => Self::Whole(sum, count + 1),
                None => Self::Float(sum as f64 + number, count + 1),
            },
            Self::Float(sum, count) => Self::Float(sum + number, count + 1),
            _ => return Ok(()),
        };
        Ok(())
    }

    /// The result; null of no values, except for counts and sums.
    pub(crate) fn result(self, function: Function) -> Value {
        match (self, function) {
            (Self::Count(count), _) => count.into(),
            (Self::Whole(_, 0), Function::Mean) => Value::Null,
            (Self::Whole(sum, count), Function::Mean) => (sum as f64 / count as f64).into(),
            (Self::Float(sum, count), Function::Mean) => (sum / count as f64).into(),
            (Self::Whole(sum, _), _) => sum.into(),
            (Self::Float(sum, _), _) => sum.into(),
            (Self::Extreme(value), _) => value,
            (Self::Distinct(seen), _) => seen.len().into(),
        }
    }
}
