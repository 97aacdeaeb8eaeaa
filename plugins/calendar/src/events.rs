//! The folder of events: one file each, named after its hour, so that an hour is taken only once.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use portcullis_guest::filesystem::{explain, folders};
use portcullis_guest::{Denial, ToolError};
use schemars::JsonSchema;
use serde::Serialize;

/// An event that is in the calendar now.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Created {
    /// Its name.
    id: String,
    day: String,
    start: String,
    title: String,
}

/// When the day's events start; none without a folder.
pub(crate) fn starts(day: &str) -> Result<Vec<String>, ToolError> {
    let Some(folder) = folders().into_iter().next() else { return Ok(Vec::new()) };
    let entries = fs::read_dir(&folder).map_err(|error| explain(&folder, &error))?;
    let start = |name: &str| {
        let hour = name.strip_prefix(day)?.strip_prefix('-')?.strip_suffix(".json")?;
        Some(format!("{hour}:00"))
    };
    Ok(entries.flatten().filter_map(|entry| start(entry.file_name().to_str()?)).collect())
}

/// Takes the hour, which the file system lets only one of many concurrent calls do.
pub(crate) fn create(day: String, start: String, title: String) -> Result<Created, ToolError> {
    let folder: PathBuf = folders().into_iter().next().ok_or_else(|| Denial::new("filesystem", "/calendar"))?;
    let id = format!("{day}-{}", start.trim_end_matches(":00"));
    let event = Created { id, day, start, title };
    let path = folder.join(format!("{}.json", event.id));
    let text = serde_json::to_vec(&event)?;
    match fs::File::create_new(&path).and_then(|mut file| file.write_all(&text)) {
        Ok(()) => Ok(event),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Err(ToolError::failed(format_args!("{} {} is taken", event.day, event.start)))
        }
        Err(error) => Err(explain(&path, &error)),
    }
}
