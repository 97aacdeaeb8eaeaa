//! The table of receipts.

use std::path::Path;

use portcullis_guest::ToolError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::table;

/// A receipt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Receipt {
    pub(crate) id: String,
    pub(crate) date: String,
    pub(crate) what: String,
    pub(crate) cents: u64,
}

/// All receipts, in the table's order.
pub(crate) fn all(folder: &Path) -> Result<Vec<Receipt>, ToolError> {
    let path = folder.join("receipts.csv");
    let mut all = Vec::new();
    for [id, date, what, cents] in table::read(&path, ["id", "date", "what", "cents"])? {
        let cents = cents.parse().map_err(|_| {
            ToolError::failed(format_args!("`{}`: the amount of {id} is not a whole number of cents", path.display()))
        })?;
        all.push(Receipt { id, date, what, cents });
    }
    Ok(all)
}

/// `84.00`
pub(crate) fn amount(cents: u64) -> String {
    format!("{}.{:02}", cents / 100, cents % 100)
}
