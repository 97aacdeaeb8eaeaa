//! The tool `query`.

use std::cmp::Ordering;
use std::collections::HashMap;

use portcullis_guest::{ToolError, output};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::aggregate::{Aggregate, Function, Sum};
use crate::filter::{Condition, Filter};
use crate::table::{Table, find};
use crate::value;

/// Each group is kept until the end.
const MOST_GROUPS: usize = 10_000;
/// What a result may weigh; wide rows end it before the limit does.
const MOST_BYTES: usize = 256 << 10;
/// Rows of a chunk.
const BATCH: usize = 50;

pub(crate) struct Query {
    pub(crate) path: String,
    pub(crate) columns: Vec<String>,
    pub(crate) filters: Vec<Filter>,
    pub(crate) group_by: Vec<String>,
    pub(crate) aggregates: Vec<Aggregate>,
    pub(crate) order_by: Vec<Order>,
    pub(crate) limit: usize,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Order {
    column: String,
    #[serde(default)]
    descending: bool,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Answer {
    columns: Vec<String>,
    /// A list per row, in the order of `columns`.
    rows: Vec<Vec<Value>>,
    /// How many rows of the file were read; without groups and order, reading ends when the result is full.
    rows_read: u64,
    /// Whether more rows met the conditions than are in the result.
    truncated: bool,
}

pub(crate) fn query(query: &Query) -> Result<Answer, ToolError> {
    let table = Table::open(&query.path)?;
    let conditions = query.filters.iter().map(|filter| Condition::new(filter, &table));
    let conditions = conditions.collect::<Result<Vec<_>, _>>()?;
    if query.group_by.is_empty() && query.aggregates.is_empty() {
        select(query, table, &conditions)
    } else if query.columns.is_empty() {
        group(query, table, &conditions)
    } else {
        Err(ToolError::invalid("give either columns, or group_by and aggregates; groups have the columns of group_by"))
    }
}

/// Sorts by places of columns; the first is the most important.
struct Sorting(Vec<(usize, bool)>);

impl Sorting {
    fn new(order: &[Order], columns: &[String]) -> Result<Self, ToolError> {
        let keys = order.iter().map(|order| Ok((find(columns, &order.column)?, order.descending)));
        keys.collect::<Result<_, _>>().map(Self)
    }

    /// What is missing comes last, also in descending order.
    fn compare(&self, a: &[Value], b: &[Value]) -> Ordering {
        let by = |&(at, descending): &(usize, bool)| {
            let ordering = value::total(&a[at], &b[at]);
            let missing = a[at].is_null() || b[at].is_null();
            if descending && !missing { ordering.reverse() } else { ordering }
        };
        self.0.iter().map(by).find(|ordering| ordering.is_ne()).unwrap_or(Ordering::Equal)
    }
}

fn select(query: &Query, table: Table, conditions: &[Condition<'_>]) -> Result<Answer, ToolError> {
    let columns = if query.columns.is_empty() { table.columns.clone() } else { query.columns.clone() };
    let places = columns.iter().map(|name| table.column(name)).collect::<Result<Vec<_>, _>>()?;
    let sorting = Sorting::new(&query.order_by, &table.columns)?;
    let sorted = !query.order_by.is_empty();
    let pick = |cells: &[Value]| places.iter().map(|&at| cells[at].clone()).collect::<Vec<_>>();
    let (mut kept, mut rows_read, mut matched, mut batch) = (Vec::new(), 0, 0, Batch::default());
    for row in table.rows {
        let row = row?;
        rows_read += 1;
        if !all_hold(conditions, &row)? {
            continue;
        }
        matched += 1;
        if sorted {
            kept.push(row.cells);
            // Rows that cannot be in the result are dropped on the way; sorting is stable.
            if kept.len() >= 2 * query.limit + BATCH {
                kept.sort_by(|a, b| sorting.compare(a, b));
                kept.truncate(query.limit);
            }
        } else if kept.len() == query.limit || batch.bytes > MOST_BYTES {
            break;
        } else {
            kept.push(pick(&row.cells));
            batch.add(kept.last().map_or(&[], Vec::as_slice))?;
        }
    }
    if !sorted {
        batch.send()?;
        let truncated = matched > kept.len();
        return Ok(Answer { columns, rows: kept, rows_read, truncated });
    }
    kept.sort_by(|a, b| sorting.compare(a, b));
    let rows = kept.iter().map(|cells| pick(cells));
    Ok(full(columns, rows, query.limit, matched, rows_read))
}

fn group(query: &Query, table: Table, conditions: &[Condition<'_>]) -> Result<Answer, ToolError> {
    let keys = query.group_by.iter().map(|name| table.column(name)).collect::<Result<Vec<_>, _>>()?;
    let mut sources = Vec::new();
    for aggregate in &query.aggregates {
        let at = aggregate.column.as_ref().map(|name| table.column(name)).transpose()?;
        if at.is_none() && aggregate.compute != Function::Count {
            return Err(ToolError::invalid(format_args!("`{}` needs a column", aggregate.name())));
        }
        sources.push((aggregate, at));
    }
    let columns: Vec<_> = query.group_by.iter().cloned().chain(query.aggregates.iter().map(Aggregate::name)).collect();
    let sorting = Sorting::new(&query.order_by, &columns)?;
    let fresh = || query.aggregates.iter().map(|aggregate| Sum::new(aggregate.compute)).collect::<Vec<_>>();
    let mut groups: Vec<(Vec<Value>, Vec<Sum>)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    if keys.is_empty() {
        // Of no rows there is a count, too.
        places.insert("[]".into(), 0);
        groups.push((Vec::new(), fresh()));
    }
    let (mut rows_read, mut distinct) = (0, 0);
    for row in table.rows {
        let row = row?;
        rows_read += 1;
        if !all_hold(conditions, &row)? {
            continue;
        }
        let key: Vec<_> = keys.iter().map(|&at| row.cells[at].clone()).collect();
        let at = *places.entry(Value::from(key.clone()).to_string()).or_insert(groups.len());
        if at == groups.len() {
            if at == MOST_GROUPS {
                let advice = "filter the rows or group by fewer columns";
                return Err(ToolError::failed(format_args!("there are more than {MOST_GROUPS} groups; {advice}")));
            }
            groups.push((key, fresh()));
        }
        for ((aggregate, source), sum) in sources.iter().zip(&mut groups[at].1) {
            sum.add(aggregate, source.map(|at| &row.cells[at]), &row, &mut distinct)?;
        }
    }
    let mut rows: Vec<Vec<Value>> = Vec::new();
    for (key, sums) in groups {
        let results = sums.into_iter().zip(&query.aggregates).map(|(sum, aggregate)| sum.result(aggregate.compute));
        rows.push(key.into_iter().chain(results).collect());
    }
    rows.sort_by(|a, b| sorting.compare(a, b));
    let matched = rows.len();
    Ok(full(columns, rows.into_iter(), query.limit, matched, rows_read))
}

fn all_hold(conditions: &[Condition<'_>], row: &crate::table::Row) -> Result<bool, ToolError> {
    for condition in conditions {
        if !condition.holds(row)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The answer with as many rows as fit.
fn full(
    columns: Vec<String>,
    all: impl Iterator<Item = Vec<Value>>,
    limit: usize,
    matched: usize,
    rows_read: u64,
) -> Answer {
    let (mut rows, mut bytes) = (Vec::new(), 0);
    for row in all.take(limit) {
        bytes += weight(&row);
        if bytes > MOST_BYTES && !rows.is_empty() {
            break;
        }
        rows.push(row);
    }
    let truncated = matched > rows.len();
    Answer { columns, rows, rows_read, truncated }
}

fn weight(row: &[Value]) -> usize {
    row.iter().map(|value| value.to_string().len() + 1).sum()
}

/// Rows that are sent together while the file is read.
#[derive(Default)]
struct Batch {
    text: String,
    rows: usize,
    bytes: usize,
}

impl Batch {
    fn add(&mut self, row: &[Value]) -> Result<(), ToolError> {
        self.text += &format!("{}\n", Value::from(row.to_vec()));
        self.bytes += weight(row);
        self.rows += 1;
        if self.rows == BATCH { self.send() } else { Ok(()) }
    }

    fn send(&mut self) -> Result<(), ToolError> {
        if self.rows > 0 {
            output::emit(std::mem::take(&mut self.text))?;
            self.rows = 0;
        }
        Ok(())
    }
}
