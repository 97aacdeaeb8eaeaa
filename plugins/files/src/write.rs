//! The tool `write`.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use portcullis_guest::ToolError;
use portcullis_guest::filesystem::{explain, resolve};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What to do when the file exists.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Mode {
    #[default]
    Create,
    Replace,
    Append,
}

/// What was written.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Written {
    path: String,
    /// Bytes written by this call.
    bytes: usize,
}

pub(crate) fn write(path: &str, text: &str, mode: Mode) -> Result<Written, ToolError> {
    let path = resolve(path)?;
    let written = parents(&path).and_then(|()| match mode {
        Mode::Create => File::create_new(&path)?.write_all(text.as_bytes()),
        Mode::Replace => replace(&path, text),
        Mode::Append => OpenOptions::new().append(true).create(true).open(&path)?.write_all(text.as_bytes()),
    });
    written.map_err(|error| match explain(&path, &error) {
        _ if error.kind() == io::ErrorKind::AlreadyExists => {
            ToolError::failed(format_args!("`{}` exists; use mode = \"replace\" or \"append\"", path.display()))
        }
        other => other,
    })?;
    Ok(Written { path: path.display().to_string(), bytes: text.len() })
}

fn parents(path: &Path) -> io::Result<()> {
    let Some(folder) = path.parent() else { return Ok(()) };
    match fs::metadata(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => fs::create_dir_all(folder),
        other => other.map(drop),
    }
}

/// Writes beside the file and renames, so that nobody sees half a file.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    if path.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let (mut file, beside) = (0_u32..)
        .map(|number| path.with_file_name(format!(".{name}.{number}.tmp")))
        .find_map(|beside| match File::create_new(&beside) {
            // Another call is writing, or one was stopped before it could rename: leave its file alone.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => None,
            other => Some(other.map(|file| (file, beside))),
        })
        .unwrap_or(Err(io::ErrorKind::AlreadyExists.into()))?;
    let done = file.write_all(text.as_bytes()).and_then(|()| fs::rename(&beside, path));
    if done.is_err() {
        // The first error is the one to report.
        let _ = fs::remove_file(&beside);
    }
    done
}
