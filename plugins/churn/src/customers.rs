//! The table of customers: `customer,plan,joined,left`, one a line, without quotes.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};

use portcullis_guest::filesystem::{explain, folders};
use portcullis_guest::{Denial, ToolError};

use crate::query::Query;

const FILE: &str = "customers.csv";
const COLUMNS: &str = "customer,plan,joined,left";

/// What the query gives.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Figures {
    /// There when the quarter began.
    pub(crate) there: u32,
    /// Of these, gone by its end.
    pub(crate) left: u32,
    /// Those gone, by month, such as `2025-11`.
    pub(crate) months: BTreeMap<String, u32>,
}

/// Runs the query, line by line: the table may be larger than memory.
pub(crate) fn count(query: &Query) -> Result<Figures, ToolError> {
    let folder = folders().into_iter().next().ok_or_else(|| Denial::new("filesystem", "/data"))?;
    let path = folder.join(FILE);
    let file = File::open(&path).map_err(|error| explain(&path, &error))?;
    let mut figures = Figures::default();
    for (number, line) in (1..).zip(BufReader::new(file).lines()) {
        let line = line.map_err(|error| explain(&path, &error))?;
        let wrong = |what: &str| ToolError::failed(format_args!("`{}`, line {number}: {what}", path.display()));
        if number == 1 {
            if line.trim_end() != COLUMNS {
                return Err(wrong(&format!("the columns are not {COLUMNS}")));
            }
            continue;
        }
        let columns: Vec<&str> = line.trim_end().split(',').collect();
        let [_, plan, joined, left] = columns[..] else { return Err(wrong("not four columns")) };
        if !is_date(joined) || !(left.is_empty() || is_date(left)) {
            return Err(wrong("a date is not of the form 2025-12-31"));
        }
        figures.add(query, plan, joined, left);
    }
    Ok(figures)
}

impl Figures {
    fn add(&mut self, query: &Query, plan: &str, joined: &str, left: &str) {
        if !query.counts(plan) || !query.was_there(joined, left) {
            return;
        }
        self.there += 1;
        if query.has_left(left) {
            self.left += 1;
            *self.months.entry(left[..7].to_owned()).or_default() += 1;
        }
    }
}

fn is_date(text: &str) -> bool {
    let shape = |(at, c): (usize, char)| if at == 4 || at == 7 { c == '-' } else { c.is_ascii_digit() };
    text.len() == 10 && text.chars().enumerate().all(shape)
}
