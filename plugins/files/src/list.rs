//! The tool `list`.

use std::fs::{self, FileType};
use std::path::Path;

use portcullis_guest::filesystem::{explain, folders, resolve};
use portcullis_guest::{Denial, ToolError};
use schemars::JsonSchema;
use serde::Serialize;

/// More entries would be more than a model can use.
const MOST_ENTRIES: usize = 2_000;

/// What is in a folder.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Listing {
    /// The folder; absent when the granted folders are listed.
    path: Option<String>,
    entries: Vec<Entry>,
    /// How many more entries there are.
    left_out: usize,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Entry {
    name: String,
    kind: Kind,
    /// Size in bytes, of files.
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Kind {
    File,
    Folder,
    Link,
    Other,
}

impl From<FileType> for Kind {
    fn from(kind: FileType) -> Self {
        match kind {
            kind if kind.is_dir() => Self::Folder,
            kind if kind.is_symlink() => Self::Link,
            kind if kind.is_file() => Self::File,
            _ => Self::Other,
        }
    }
}

pub(crate) fn list(path: Option<&str>) -> Result<Listing, ToolError> {
    match (path, folders().as_slice()) {
        (None, []) => Err(Denial::new("filesystem", "/").into()),
        (None, [folder]) => list_folder(folder),
        (None, folders) => Ok(granted(folders)),
        (Some(path), _) => list_folder(&resolve(path)?),
    }
}

fn granted(folders: &[impl AsRef<Path>]) -> Listing {
    let entry = |folder: &Path| Entry { name: folder.display().to_string(), kind: Kind::Folder, size: None };
    Listing { path: None, entries: folders.iter().map(|folder| entry(folder.as_ref())).collect(), left_out: 0 }
}

fn list_folder(folder: &Path) -> Result<Listing, ToolError> {
    let explained = |error| explain(folder, &error);
    let mut found: Vec<_> = fs::read_dir(folder).map_err(explained)?.collect::<Result<_, _>>().map_err(explained)?;
    found.sort_by_key(fs::DirEntry::file_name);
    let left_out = found.len().saturating_sub(MOST_ENTRIES);
    found.truncate(MOST_ENTRIES);
    let entries = found.into_iter().map(|entry| {
        // An entry that vanished or cannot be looked at is still named.
        let metadata = entry.metadata().ok();
        Entry {
            name: entry.file_name().to_string_lossy().into_owned(),
            kind: entry.file_type().map_or(Kind::Other, Kind::from),
            size: metadata.filter(fs::Metadata::is_file).map(|metadata| metadata.len()),
        }
    });
    Ok(Listing { path: Some(folder.display().to_string()), entries: entries.collect(), left_out })
}
