//! Conditions on rows.

use std::cmp::Ordering;

use portcullis_guest::ToolError;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::table::{Row, Table};
use crate::value::{compare, kind, shown};

/// A condition, such as `{"column": "year", "is": "at-least", "value": 2020}`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Filter {
    column: String,
    is: Test,
    /// What to compare with; a list for `one-of`; nothing for `missing` and `present`.
    #[serde(default)]
    value: Value,
}

#[derive(Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Test {
    Equal,
    NotEqual,
    Less,
    AtMost,
    Greater,
    AtLeast,
    Contains,
    OneOf,
    Missing,
    Present,
}

/// A filter whose column was found.
pub(crate) struct Condition<'a> {
    at: usize,
    filter: &'a Filter,
}

impl<'a> Condition<'a> {
    pub(crate) fn new(filter: &'a Filter, table: &Table) -> Result<Self, ToolError> {
        let at = table.column(&filter.column)?;
        let wrong = |what: &str| {
            Err(ToolError::invalid(format_args!("filter on `{}`: the value must be {what}", filter.column)))
        };
        match (filter.is, &filter.value) {
            (Test::OneOf, value) if !value.is_array() => wrong("a list"),
            (Test::Contains, value) if !value.is_string() => wrong("text"),
            (Test::Less | Test::AtMost | Test::Greater | Test::AtLeast, value)
                if !(value.is_number() || value.is_string()) =>
            {
                wrong("a number or text")
            }
            _ => Ok(Self { at, filter }),
        }
    }

    /// Whether a row meets it. What is missing meets `missing`, `not-equal` and comparisons with null only.
    pub(crate) fn holds(&self, row: &Row) -> Result<bool, ToolError> {
        let (cell, value) = (&row.cells[self.at], &self.filter.value);
        let ordered = |test: fn(Ordering) -> bool| match compare(cell, value) {
            Some(ordering) => Ok(test(ordering)),
            None if cell.is_null() => Ok(false),
            None => Err(ToolError::failed(format_args!(
                "{}: `{}` is {} ({}) and cannot be compared with {} ({})",
                row.place,
                self.filter.column,
                shown(cell),
                kind(cell),
                shown(value),
                kind(value)
            ))),
        };
        match self.filter.is {
            Test::Equal => Ok(equal(cell, value)),
            Test::NotEqual => Ok(!equal(cell, value)),
            Test::Less => ordered(Ordering::is_lt),
            Test::AtMost => ordered(Ordering::is_le),
            Test::Greater => ordered(Ordering::is_gt),
            Test::AtLeast => ordered(Ordering::is_ge),
            Test::Contains => Ok(cell.as_str().zip(value.as_str()).is_some_and(|(cell, part)| cell.contains(part))),
            Test::OneOf => Ok(value.as_array().is_some_and(|list| list.iter().any(|one| equal(cell, one)))),
            Test::Missing => Ok(cell.is_null()),
            Test::Present => Ok(!cell.is_null()),
        }
    }
}

/// 1 and 1.0 are equal, 1 and "1" are not.
fn equal(a: &Value, b: &Value) -> bool {
    compare(a, b).map_or_else(|| a == b, Ordering::is_eq)
}
