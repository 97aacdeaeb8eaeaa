//! Receipts, and which of them are still open.

use std::path::Path;

use portcullis_guest::ToolError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{submissions, table};

/// A receipt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Receipt {
    pub(crate) id: String,
    pub(crate) date: String,
    pub(crate) what: String,
    pub(crate) cents: u64,
}

/// Those that nobody has submitted, in the table's order.
pub(crate) fn open(folder: &Path) -> Result<Vec<Receipt>, ToolError> {
    let submitted = submissions::submitted(folder)?;
    let path = folder.join("receipts.csv");
    let mut open = Vec::new();
    for [id, date, what, cents] in table::read(&path, ["id", "date", "what", "cents"])? {
        let cents = cents.parse().map_err(|_| {
            ToolError::failed(format_args!("`{}`: the amount of {id} is not a whole number of cents", path.display()))
        })?;
        if !submitted.contains(&id) {
            open.push(Receipt { id, date, what, cents });
        }
    }
    Ok(open)
}

/// `84.00`
pub(crate) fn amount(cents: u64) -> String {
    format!("{}.{:02}", cents / 100, cents % 100)
}
