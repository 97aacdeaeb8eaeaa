//! The folder of notes.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use portcullis_guest::filesystem::{explain, folders};
use portcullis_guest::{Denial, ToolError, log};
use schemars::JsonSchema;
use serde::Serialize;

use crate::date;
use crate::note::Note;

/// Where notes live when several folders are granted.
const NOTES: &str = "/notes";

/// How much of a note's text a search shows, in characters.
const EXCERPT: usize = 200;

/// A note that was saved.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Saved {
    /// The note's name.
    id: String,
    /// Its file.
    path: String,
}

/// Notes that were found.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Found {
    matches: Vec<Match>,
    /// How many matched in all.
    total: usize,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Match {
    id: String,
    path: String,
    title: String,
    tags: Vec<String>,
    /// The beginning of the text.
    excerpt: String,
}

/// Saves a note in a file of its own.
pub(crate) fn add(note: &Note) -> Result<Saved, ToolError> {
    let folder = folder()?;
    let explained = |error| explain(&folder, &error);
    let (id, path) = reserve(&folder, note).map_err(explained)?;
    write(&folder, &id, &path, note).map_err(explained)?;
    Ok(Saved { id, path: path.display().to_string() })
}

/// Finds notes with every word of the query, newest first.
pub(crate) fn search(query: &str, limit: usize) -> Result<Found, ToolError> {
    let folder = folder()?;
    let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
    let entries = fs::read_dir(&folder).map_err(|error| explain(&folder, &error))?;
    let mut names: Vec<(Option<SystemTime>, String)> = entries
        .flatten()
        .filter_map(|entry| {
            Some((entry.metadata().and_then(|data| data.modified()).ok(), entry.file_name().into_string().ok()?))
        })
        .collect();
    names.sort_unstable_by(|a, b| b.cmp(a));

    let mut found = Found { matches: Vec::new(), total: 0 };
    for (_, name) in names {
        let Some(id) = name.strip_suffix(".md").filter(|id| !id.starts_with('.')) else { continue };
        let path = folder.join(&name);
        let Ok(markdown) = fs::read_to_string(&path).inspect_err(|error| log::warn!("skipped {name}: {error}")) else {
            continue;
        };
        let Some(note) = Note::from_markdown(&markdown).filter(|note| note.contains_all(&words)) else { continue };
        found.total += 1;
        if found.matches.len() < limit {
            let excerpt = note.text.chars().take(EXCERPT).collect();
            let path = path.display().to_string();
            found.matches.push(Match { id: id.to_owned(), path, title: note.title, tags: note.tags, excerpt });
        }
    }
    Ok(found)
}

fn folder() -> Result<PathBuf, ToolError> {
    let mut folders = folders();
    let notes = folders.iter().position(|folder| folder == Path::new(NOTES)).unwrap_or(0);
    if folders.is_empty() { Err(Denial::new("filesystem", NOTES).into()) } else { Ok(folders.swap_remove(notes)) }
}

/// Takes a free name by creating the file, which the file system lets only one of many concurrent calls do.
fn reserve(folder: &Path, note: &Note) -> io::Result<(String, PathBuf)> {
    let base = format!("{}-{}", date::today(), note.slug());
    let mut number = 1_u32;
    loop {
        let id = if number == 1 { base.clone() } else { format!("{base}-{number}") };
        let path = folder.join(format!("{id}.md"));
        match File::create_new(&path) {
            Ok(_) => return Ok((id, path)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            Err(error) => return Err(error),
        }
    }
}

/// Fills the reserved file at one stroke: readers see an empty file, which is no note, or the whole one.
fn write(folder: &Path, id: &str, path: &Path, note: &Note) -> io::Result<()> {
    // Only the owner of the reserved name uses this one.
    let beside = folder.join(format!(".{id}.tmp"));
    let done = fs::write(&beside, note.to_markdown()).and_then(|()| fs::rename(&beside, path));
    if done.is_err() {
        // The first error is the one to report; what cannot be removed is no note and harms nobody.
        let _ = fs::remove_file(&beside);
        let _ = fs::remove_file(path);
    }
    done
}
