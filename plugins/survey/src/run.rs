//! The survey itself.

use portcullis_guest::filesystem::resolve;
use portcullis_guest::output::{self, OutputError};
use portcullis_guest::{ToolError, log, progress};

use crate::languages::language;
use crate::measure::Meter;
use crate::report::{FolderReport, Note, Report, Summary};
use crate::tree::{Folder, Tree};
use crate::{note, text};

/// Surveys the tree at `path`.
pub(crate) fn survey(path: &str, with_note: bool) -> Result<Report, ToolError> {
    let root = resolve(path)?;
    let tree = Tree::below(&root)?;

    let mut meter = Meter::new();
    let mut whole = Summary::default();
    whole.skipped.unreadable = tree.unreadable as u64;
    let mut folders = Vec::with_capacity(tree.folders.len());
    let mut done = 0;
    let mut streaming = true;
    for folder in &tree.folders {
        let path = folder.path.display().to_string();
        let summary = summarise(&mut meter, folder);
        streaming = streaming && stream(&text::folder(&path, &summary))?;
        done += folder.files.len();
        // Counts of files are far below 2^53, where a float would lose them.
        progress::report_with(done as f64, Some(tree.files as f64), &path);
        whole.merge(&summary);
        folders.push(FolderReport { path, totals: summary.totals });
    }

    let mut report = Report {
        path: root.display().to_string(),
        totals: whole.totals,
        languages: whole.languages(),
        largest: whole.largest().to_vec(),
        folders,
        skipped: whole.skipped,
        cut: tree.cut,
        note: Note::NotWanted,
    };
    if with_note {
        report.note = note::save(&report)?;
    }
    Ok(report)
}

fn summarise(meter: &mut Meter, folder: &Folder) -> Summary {
    let mut summary = Summary::default();
    for name in &folder.files {
        let path = folder.path.join(name);
        match meter.measure(&path) {
            Ok(measured) => summary.add(&path.to_string_lossy(), language(name), measured),
            Err(error) => {
                log::info!("skipped {}: {error}", path.display());
                summary.skipped.unreadable += 1;
            }
        }
    }
    summary
}

/// Sends a chunk and says whether there may be more. Chunks are a courtesy: when their budget is used up, the survey goes
/// on without them. It ends only when nobody wants it any more.
fn stream(chunk: &str) -> Result<bool, ToolError> {
    match output::emit(chunk) {
        Ok(_) => Ok(true),
        Err(OutputError::Closed) => Err(ToolError::Cancelled),
        Err(error) => {
            log::warn!("no more chunks: {error}");
            Ok(false)
        }
    }
}
