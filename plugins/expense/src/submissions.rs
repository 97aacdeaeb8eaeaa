//! Submissions: a file each, named after principal and key, so that a key can be used only once.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use portcullis_guest::ToolError;
use portcullis_guest::filesystem::explain;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::receipts::{self, Receipt};

const ENDING: &str = ".submission.json";

/// A submission.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Submission {
    /// The caller's name for it.
    pub(crate) key: String,
    pub(crate) receipts: Vec<Receipt>,
    /// Sum of the amounts.
    pub(crate) cents: u64,
}

/// Where a principal's submission of this key is kept.
pub(crate) fn place(folder: &Path, principal: &str, key: &str) -> PathBuf {
    // Byte by byte, so that two principals never share a name.
    let principal: String = principal.bytes().map(|byte| format!("{byte:02x}")).collect();
    folder.join(format!("{principal}.{key}{ENDING}"))
}

/// What was submitted there, if anything.
pub(crate) fn read(place: &Path) -> Result<Option<Submission>, ToolError> {
    match fs::read(place) {
        Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(explain(place, &error)),
    }
}

/// Submits, unless something was submitted there meanwhile, which is then returned instead.
///
/// The file is written under a name of this call's and then linked to its place, which only one of many calls can do: whoever
/// looks sees nothing or all of it.
pub(crate) fn make(place: &Path, call: &str, submission: &Submission) -> Result<Option<Submission>, ToolError> {
    let draft = place.with_file_name(format!("{}.draft", call.replace(|c: char| !c.is_ascii_alphanumeric(), "-")));
    fs::write(&draft, serde_json::to_vec(submission)?).map_err(|error| explain(&draft, &error))?;
    let linked = fs::hard_link(&draft, place);
    // A draft that stays is no submission.
    let _ = fs::remove_file(&draft);
    match linked {
        Ok(()) => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => read(place),
        Err(error) => Err(explain(place, &error)),
    }
}

/// The receipts that are in no submission, in the table's order.
pub(crate) fn open(folder: &Path) -> Result<Vec<Receipt>, ToolError> {
    let submitted = submitted(folder)?;
    let mut receipts = receipts::all(folder)?;
    receipts.retain(|receipt| !submitted.contains(&receipt.id));
    Ok(receipts)
}

/// The ids of the receipts of all submissions.
fn submitted(folder: &Path) -> Result<BTreeSet<String>, ToolError> {
    let entries = fs::read_dir(folder).map_err(|error| explain(folder, &error))?;
    let mut ids = BTreeSet::new();
    for entry in entries.flatten() {
        if entry.file_name().to_string_lossy().ends_with(ENDING)
            && let Some(submission) = read(&entry.path())?
        {
            ids.extend(submission.receipts.into_iter().map(|receipt| receipt.id));
        }
    }
    Ok(ids)
}
