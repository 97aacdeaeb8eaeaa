//! The archive of removed files: its contents are verified like the chain, even after a crash and with older logs.

use super::super::*;
use super::{grant, open, settings, with_lines, wrong};
use bytesize::ByteSize;
use std::fs;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Settings for about three records in a file, and ten in the archive.
fn small() -> AuditSettings {
    AuditSettings { max_size: ByteSize::b(900), keep: NonZeroU32::new(2).unwrap(), ..settings() }
}

fn keep(folder: &Path, records: std::ops::Range<usize>) {
    let (log, _) = open(folder, &small());
    for number in records {
        log.keep(grant(number));
        assert!(log.flush());
    }
}

/// A log whose oldest records are in the archive.
fn log() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    keep(folder.path(), 0..40);
    let archive = folder.path().join("archive.jsonl");
    let report = verify(folder.path(), None).unwrap();
    assert!(report.archived > 1 && report.first > report.archived, "{report:?}");
    (folder, archive)
}

#[test]
fn each_change_of_the_archive_is_found() {
    let (folder, archive) = log();
    let whole = fs::read(&archive).unwrap();
    for at in (0..whole.len() - 1).step_by(37) {
        let mut changed = whole.clone();
        changed[at] ^= 1;
        fs::write(&archive, &changed).unwrap();
        let line = whole[..at].iter().filter(|byte| **byte == b'\n').count() as u64 + 1;
        let fault = verify(folder.path(), None).unwrap_err();
        assert_eq!((fault.line, fault.file), (line, archive.clone()), "byte {at}");
    }
    let lines = |change: fn(&mut Vec<String>)| {
        fs::write(&archive, &whole).unwrap();
        with_lines(&archive, change);
        wrong(folder.path()).1
    };
    assert_eq!(lines(|lines| drop(lines.remove(0))), VerifyProblem::NotTheArchive);
    assert_eq!(lines(|lines| drop(lines.pop())), VerifyProblem::NotTheArchive);
    assert!(matches!(lines(|lines| lines.swap(0, 1)), VerifyProblem::Reordered { .. }));
    fs::remove_file(&archive).unwrap();
    assert_eq!(wrong(folder.path()), (0, VerifyProblem::NotTheArchive));
}

#[test]
fn an_archive_that_no_record_names_is_found() {
    let (folder, archive) = log();
    let other = tempfile::tempdir().unwrap();
    keep(other.path(), 0..1);
    assert!(verify(other.path(), None).is_ok());
    fs::copy(archive, other.path().join("archive.jsonl")).unwrap();
    assert_eq!(wrong(other.path()).1, VerifyProblem::NotTheArchive);
    drop(folder);
}

#[test]
fn a_crash_while_files_are_removed_loses_nothing() {
    let copy = |from: &Path| {
        let to = tempfile::tempdir().unwrap();
        for entry in fs::read_dir(from).unwrap().flatten() {
            fs::copy(entry.path(), to.path().join(entry.file_name())).unwrap();
        }
        to
    };
    let is_removal = |folder: &Path| {
        let text = fs::read_to_string(folder.join("audit.jsonl")).unwrap();
        text.lines().next().is_some_and(|line| line.contains("\"what\":\"removed\""))
    };
    // Copies of the folder right before and right after a removal.
    let folder = tempfile::tempdir().unwrap();
    keep(folder.path(), 0..20);
    let (before, after) = (20..60)
        .find_map(|number| {
            let before = copy(folder.path());
            keep(folder.path(), number..number + 1);
            let closed = |folder: &Path| folder::AuditFolder::new(folder).closed().unwrap();
            let removed = closed(before.path()).first() != closed(folder.path()).first();
            (removed && is_removal(folder.path())).then(|| (before, copy(folder.path())))
        })
        .unwrap();
    let put = |folder: &Path, name: &str, of: &Path, old: &str| {
        fs::copy(of.join(old), folder.join(name)).unwrap();
    };
    let removed = folder::AuditFolder::new(before.path()).closed().unwrap()[0].1.clone();
    let removed = removed.file_name().unwrap().to_str().unwrap();

    // The crash came after the new archive was written, and before anything else.
    let crashed = copy(before.path());
    put(crashed.path(), "archive.new", after.path(), "archive.jsonl");
    assert!(verify(crashed.path(), None).is_ok());
    // The crash came after the record that names the archive was written, too.
    let crashed_later = copy(after.path());
    put(crashed_later.path(), "archive.new", after.path(), "archive.jsonl");
    put(crashed_later.path(), "archive.jsonl", before.path(), "archive.jsonl");
    put(crashed_later.path(), removed, before.path(), removed);
    assert!(verify(crashed_later.path(), None).is_ok());
    // The crash came after the archive was put into its place, while the removed file is still there.
    let crashed_last = copy(after.path());
    put(crashed_last.path(), removed, before.path(), removed);
    assert!(verify(crashed_last.path(), None).is_ok());

    for crashed in [crashed, crashed_later, crashed_last] {
        keep(crashed.path(), 60..80);
        let report = verify(crashed.path(), None).unwrap();
        let mut seen = Vec::new();
        let note = |entry: AuditLogEntry| {
            seen.push(entry.fields["seq"].as_u64().unwrap());
            Ok(())
        };
        for_each_entry(crashed.path(), &EntryFilter::default(), note).unwrap();
        assert!(seen.is_sorted_by(|one, next| one < next), "each record is there once: {seen:?}");
        assert_eq!((report.files, crashed.path().join("archive.new").exists()), (3, false));
    }
}

#[test]
fn logs_of_versions_without_an_archive_go_on() {
    let (folder, _) = super::log(3);
    let head = verify(folder.path(), None).unwrap().head;
    // Such a version recorded the removal of the records before like this.
    let body = format!(
        r#"{{"seq":4,"time":"2026-11-01T00:00:00.000Z","event":"journal","what":"removed","file":"audit-000001.jsonl","through":3,"prev":"{}""#,
        head.hash
    );
    let hash = Hash::compute(&[body.as_bytes(), b"}"]);
    fs::write(folder.path().join("audit.jsonl"), format!("{body},\"hash\":\"{hash}\"}}\n")).unwrap();
    fs::write(folder.path().join("head"), format!("4:{hash}\n")).unwrap();
    let report = verify(folder.path(), None).unwrap();
    assert_eq!((report.first, report.head.seq, report.archived), (4, 4, 0));
    keep(folder.path(), 0..40);
    let report = verify(folder.path(), None).unwrap();
    assert!(report.archived > 1, "{report:?}");
    assert!(verify(folder.path(), Some(Head { seq: 4, hash })).is_ok());
}

#[test]
fn files_stay_until_the_archive_can_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let in_its_place = folder.path().join("archive.jsonl");
    fs::create_dir(&in_its_place).unwrap();
    let (log, _) = open(folder.path(), &small());
    for number in 0..20 {
        log.keep(grant(number));
        while !log.flush() {
            std::thread::yield_now();
        }
    }
    drop(log);
    fs::remove_dir(&in_its_place).unwrap();
    let report = verify(folder.path(), None).unwrap();
    assert_eq!((report.first, report.head.seq), (1, 20), "nothing was removed, and nothing is lost");
    assert!(report.files > 4 && !folder.path().join("archive.new").exists(), "{report:?}");
    keep(folder.path(), 20..40);
    let report = verify(folder.path(), None).unwrap();
    assert!(report.archived > 1 && report.files == 3, "{report:?}");
}
