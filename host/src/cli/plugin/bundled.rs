//! Plugins that come with this program: components in a folder beside it.

use anyhow::Context;
use platform::files::check_access;
use platform::telemetry::printable;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Their folders, relative to that of the program: unpacked from an archive, installed by a package, built from source.
const FOLDERS: [&str; 3] = ["plugins", "../share/portcullis/plugins", "../plugins"];

const GROUP_WRITES: u32 = 0o020;

/// Finds a bundled component by its bare name. None if the text is not a bare name, or names a file in the current folder.
/// Fails if there is no such component, or if another user of this machine may have put it there.
pub(super) fn find(name: &str) -> anyhow::Result<Option<PathBuf>> {
    let is_bare = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    if !is_bare || name.is_empty() || Path::new(name).is_file() {
        return Ok(None);
    }
    let program = std::env::current_exe().and_then(fs::canonicalize).context("where this program is")?;
    let beside = program.parent().unwrap_or(Path::new("/"));
    let folders: Vec<_> = FOLDERS.iter().filter_map(|folder| beside.join(folder).canonicalize().ok()).collect();
    let file = format!("{name}.wasm");
    if let Some(folder) = folders.iter().find(|folder| folder.join(&file).is_file()) {
        let found = folder.join(&file);
        let beside = fs::metadata(beside)?;
        for path in [folder, &found] {
            let checked = fs::metadata(path).and_then(|metadata| check_writers(&metadata, &beside));
            checked.with_context(|| format!("{} is not used", path.display()))?;
        }
        return Ok(Some(found));
    }
    let mut known: Vec<_> = folders.iter().flat_map(|folder| names(folder)).collect();
    known.sort();
    known.dedup();
    let known = match known.as_slice() {
        [] => "no plugin comes with this program".to_owned(),
        known => format!("these plugins come with this program: {}", printable(&known.join(", "))),
    };
    anyhow::bail!("there is no file `{name}`, and {known}")
}

/// Refuses what another user of this machine may have written. The group may have write access if it has that to the program's
/// folder (`beside`) as well: it could then replace the program, too.
fn check_writers(metadata: &Metadata, beside: &Metadata) -> io::Result<()> {
    check_access(metadata.uid(), metadata.mode() & !(beside.mode() & GROUP_WRITES))
}

/// The names of the components in a folder.
fn names(folder: &Path) -> Vec<String> {
    let Ok(entries) = folder.read_dir() else { return Vec::new() };
    let paths = entries.flatten().map(|entry| entry.path());
    let components = paths.filter(|path| path.extension().is_some_and(|end| end == "wasm"));
    components.filter_map(|path| path.file_stem()?.to_str().map(str::to_owned)).collect()
}
