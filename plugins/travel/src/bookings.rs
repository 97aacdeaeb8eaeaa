//! The file of bookings: one line of JSON each.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use portcullis_guest::filesystem::{explain, folders};
use portcullis_guest::{Denial, ToolError};
use serde::Serialize;

const FILE: &str = "bookings.jsonl";

/// A trip that somebody has confirmed.
#[derive(Serialize)]
pub(crate) struct Booking<'a> {
    pub(crate) destination: &'a str,
    pub(crate) flight: &'a str,
    pub(crate) price: u32,
    pub(crate) notes: &'a str,
    /// The call that booked it, however many rounds it took.
    pub(crate) call: &'a str,
    pub(crate) principal: &'a str,
}

/// Where bookings are kept.
pub(crate) fn folder() -> Result<PathBuf, ToolError> {
    folders().into_iter().next().ok_or_else(|| Denial::new("filesystem", "/bookings").into())
}

/// Adds a booking; all of it in one write, so that lines of concurrent calls do not mix.
pub(crate) fn add(folder: &Path, booking: &Booking<'_>) -> Result<(), ToolError> {
    let line = format!("{}\n", serde_json::to_string(booking)?);
    let path = folder.join(FILE);
    let file = OpenOptions::new().append(true).create(true).open(&path);
    file.and_then(|mut file| file.write_all(line.as_bytes())).map_err(|error| explain(&path, &error))
}
