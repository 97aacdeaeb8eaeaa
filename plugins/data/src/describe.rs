//! The tool `describe`.

use portcullis_guest::ToolError;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::table::Table;
use crate::value::{compare, kind};

const SAMPLES: usize = 3;
/// What a sample or an extreme may weigh.
const MOST_SAMPLE: usize = 200;

#[derive(Serialize, JsonSchema)]
pub(crate) struct Description {
    rows: u64,
    columns: Vec<Column>,
}

#[derive(Serialize, JsonSchema)]
struct Column {
    name: String,
    /// The types of its values: `integer`, `number`, `text`, `boolean`, `list`, `object`.
    types: Vec<&'static str>,
    /// Rows without a value.
    missing: u64,
    #[serde(skip_serializing_if = "Value::is_null")]
    min: Value,
    #[serde(skip_serializing_if = "Value::is_null")]
    max: Value,
    /// The first different values.
    samples: Vec<Value>,
}

pub(crate) fn describe(path: &str) -> Result<Description, ToolError> {
    let table = Table::open(path)?;
    let new = |name: &String| Column {
        name: name.clone(),
        types: Vec::new(),
        missing: 0,
        min: Value::Null,
        max: Value::Null,
        samples: Vec::new(),
    };
    let mut columns: Vec<Column> = table.columns.iter().map(new).collect();
    let mut rows = 0;
    for row in table.rows {
        rows += 1;
        for (column, cell) in columns.iter_mut().zip(row?.cells) {
            column.see(cell);
        }
    }
    Ok(Description { rows, columns })
}

impl Column {
    fn see(&mut self, cell: Value) {
        if cell.is_null() {
            self.missing += 1;
            return;
        }
        let kind = kind(&cell);
        if !self.types.contains(&kind) {
            self.types.push(kind);
        }
        if cell.as_str().map_or_else(|| cell.is_array() || cell.is_object(), |text| text.len() > MOST_SAMPLE) {
            return;
        }
        if self.min.is_null() || compare(&cell, &self.min).is_some_and(std::cmp::Ordering::is_lt) {
            self.min = cell.clone();
        }
        if self.max.is_null() || compare(&cell, &self.max).is_some_and(std::cmp::Ordering::is_gt) {
            self.max = cell.clone();
        }
        if self.samples.len() < SAMPLES && !self.samples.contains(&cell) {
            self.samples.push(cell);
        }
    }
}
