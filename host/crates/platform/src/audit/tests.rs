//! The log on a real disk: what it stores, and whether every change to it is detected.

mod archive;
mod crowds;

use super::*;
use crate::clock::SystemClock;
use crate::telemetry::ResourceUsage;
use bytesize::ByteSize;
use policy::{Limits, Lineage, PluginId, Principal};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use std::fs;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

fn settings() -> AuditSettings {
    AuditSettings::default()
}

fn open(folder: &Path, settings: &AuditSettings) -> (FileAuditLog, Head) {
    FileAuditLog::open(folder, settings, Arc::new(SystemClock)).unwrap()
}

fn grant(number: usize) -> AuditRecord {
    AuditRecord::for_operator(None, None, AuditEvent::Grant { given: true, line: format!("line {number}") })
}

/// A log with this many records.
fn log(records: usize) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let (log, head) = open(folder.path(), &settings());
    assert_eq!(head, Head::START);
    (0..records).for_each(|number| log.keep(grant(number)));
    assert!(log.flush());
    let file = folder.path().join("audit.jsonl");
    (folder, file)
}

fn wrong(folder: &Path) -> (u64, VerifyProblem) {
    let fault = verify(folder, None).unwrap_err();
    (fault.line, fault.wrong)
}

/// Changes the lines of a file.
fn with_lines(file: &Path, change: impl FnOnce(&mut Vec<String>)) {
    let mut lines: Vec<String> = fs::read_to_string(file).unwrap().lines().map(str::to_owned).collect();
    change(&mut lines);
    fs::write(file, lines.join("\n") + "\n").unwrap();
}

#[test]
fn records_of_requests_and_secrets_have_their_own_kinds() {
    let request = "GET https://api.example.com/".to_owned();
    let sent = AuditEvent::HttpRequest { request, address: None, status: Some(200), bytes: 0 };
    let used = AuditEvent::SecretUsed { name: "example".to_owned(), host: "api.example.com".to_owned() };
    assert_eq!((sent.kind(), used.kind()), (EventKind::HttpRequest, EventKind::SecretUsed));
}

#[test]
fn what_was_recorded_is_there_and_follows() {
    let (folder, file) = log(3);
    let report = verify(folder.path(), None).unwrap();
    assert_eq!((report.head.seq, report.first, report.files, report.torn), (3, 1, 1, 0));
    let text = fs::read_to_string(file).unwrap();
    let first: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!((&first["seq"], &first["event"], &first["line"]), (&1.into(), &"grant".into(), &"line 0".into()));
    assert_eq!(first["prev"], "0".repeat(64));
    let (_, head) = open(folder.path(), &settings());
    assert_eq!(head, report.head, "who opens it later finds the end");
    assert_eq!(head.to_string().parse(), Ok(head));
}

#[test]
fn each_change_is_found_and_named() {
    let (folder, file) = log(6);
    let whole = fs::read(&file).unwrap();
    // Changes bytes of every line.
    for at in (0..whole.len() - 1).step_by(37) {
        let mut changed = whole.clone();
        changed[at] ^= 1;
        fs::write(&file, &changed).unwrap();
        let line = whole[..at].iter().filter(|byte| **byte == b'\n').count() as u64 + 1;
        let fault = verify(folder.path(), None).unwrap_err();
        assert_eq!((fault.line, fault.file), (line, file.clone()), "byte {at}");
    }
    let lines = |change: fn(&mut Vec<String>)| {
        fs::write(&file, &whole).unwrap();
        with_lines(&file, change);
        wrong(folder.path())
    };
    assert_eq!(lines(|lines| drop(lines.remove(2))), (3, VerifyProblem::Missing { from: 3, to: 3 }));
    assert_eq!(lines(|lines| drop(lines.drain(..2))), (4, VerifyProblem::Missing { from: 1, to: 2 }));
    assert_eq!(lines(|lines| lines.swap(1, 2)), (2, VerifyProblem::Reordered { expected: 2, found: 3 }));
    assert_eq!(
        lines(|lines| lines.insert(3, lines[1].clone())),
        (4, VerifyProblem::Reordered { expected: 4, found: 2 })
    );
    assert_eq!(lines(|lines| lines.truncate(4)), (4, VerifyProblem::CutOff { last: 4, noted: 6 }));
    assert_eq!(lines(Vec::clear).1, VerifyProblem::Changed, "an empty line is no record");
    fs::remove_file(&file).unwrap();
    assert_eq!(wrong(folder.path()).1, VerifyProblem::CutOff { last: 0, noted: 6 });
}

#[test]
fn a_line_that_was_hashed_anew_does_not_fit_its_neighbour() {
    let (folder, file) = log(4);
    with_lines(&file, |lines| {
        let forged = line::decode(&lines[0]).unwrap();
        let mut line = Vec::new();
        line::encode(&grant(99), std::time::Duration::from_secs(1), forged.head, &mut line);
        lines[1] = String::from_utf8(line).unwrap().trim_end().to_owned();
    });
    assert_eq!(wrong(folder.path()), (2, VerifyProblem::Rehashed));
}

#[test]
fn a_log_written_anew_is_found_by_a_head_that_was_noted_elsewhere() {
    let (folder, _) = log(5);
    let noted = verify(folder.path(), None).unwrap().head;
    assert!(verify(folder.path(), Some(noted)).is_ok());
    let (other, _) = log(7);
    assert!(verify(other.path(), None).is_ok());
    assert_eq!(verify(other.path(), Some(noted)).unwrap_err().wrong, VerifyProblem::NotNoted { seq: 5 });
    let (short, _) = log(3);
    assert_eq!(verify(short.path(), Some(noted)).unwrap_err().wrong, VerifyProblem::CutOff { last: 3, noted: 5 });
}

#[test]
fn a_torn_line_is_taken_off_and_that_is_recorded() {
    let (folder, file) = log(2);
    let mut torn = fs::read(&file).unwrap();
    torn.extend(b"{\"seq\":3,\"ti");
    fs::write(&file, &torn).unwrap();
    assert_eq!(verify(folder.path(), None).unwrap().torn, 12);
    open(folder.path(), &settings()).0.keep(grant(2));
    let report = verify(folder.path(), None).unwrap();
    // There is exactly one record of the repair, whether the problem was found on opening or on writing.
    assert_eq!((report.torn, report.head.seq), (0, 4));
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(text.matches("\"what\":\"repaired\",\"bytes\":12").count(), 1, "{text}");
}

#[test]
fn a_cut_tail_stays_missing_after_more_was_written() {
    let (folder, file) = log(5);
    with_lines(&file, |lines| lines.truncate(2));
    open(folder.path(), &settings()).0.keep(grant(9));
    assert_eq!(wrong(folder.path()), (3, VerifyProblem::Missing { from: 3, to: 5 }));
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains("\"what\":\"damaged\",\"noted\":5,\"found\":2"), "{text}");
}

#[test]
fn files_are_closed_and_removed_without_breaking_the_chain() {
    let folder = tempfile::tempdir().unwrap();
    let settings = AuditSettings { max_size: ByteSize::b(600), keep: NonZeroU32::new(2).unwrap(), ..settings() };
    let (log, _) = open(folder.path(), &settings);
    for number in 0..30 {
        log.keep(grant(number));
        assert!(log.flush());
    }
    let report = verify(folder.path(), None).unwrap();
    assert!(report.first > 1 && report.files == 3 && report.head.seq > 30, "{report:?}");
    // Without the oldest file, the beginning is missing.
    let oldest = folder::AuditFolder::new(folder.path()).closed().unwrap()[0].1.clone();
    fs::remove_file(oldest).unwrap();
    let fault = verify(folder.path(), None).unwrap_err();
    assert!(matches!(fault.wrong, VerifyProblem::Missing { from, .. } if from == report.first), "{fault}");
}

#[test]
fn two_writers_make_one_chain() {
    let folder = tempfile::tempdir().unwrap();
    let settings = AuditSettings { max_size: ByteSize::kib(4), keep: NonZeroU32::new(99).unwrap(), ..settings() };
    let writers = [open(folder.path(), &settings).0, open(folder.path(), &settings).0];
    std::thread::scope(|scope| {
        for writer in &writers {
            scope.spawn(move || {
                for number in 0..60 {
                    writer.keep(grant(number));
                    assert!(writer.flush());
                }
            });
        }
    });
    assert_eq!(verify(folder.path(), None).unwrap().head.seq, 120);
}

#[test]
fn what_cannot_be_kept_is_kept_later_and_calls_wait_for_it_if_they_must() {
    let folder = tempfile::tempdir().unwrap();
    let settings = AuditSettings { required: true, ..settings() };
    let (log, _) = open(folder.path(), &settings);
    log.keep(grant(0));
    assert!(log.flush() && !log.refuses_calls(&Principal::local()));
    // A folder in place of the file makes writing fail. The two are swapped atomically, because otherwise a new file could be
    // created in between.
    let (file, away) = (folder.path().join("audit.jsonl"), folder.path().join("away"));
    let swap = || renameat_with(CWD, &file, CWD, &away, RenameFlags::EXCHANGE).unwrap();
    fs::create_dir(&away).unwrap();
    swap();
    log.keep(grant(1));
    while !log.refuses_calls(&Principal::local()) {
        std::thread::yield_now();
    }
    assert!(!log.flush());
    swap();
    while log.refuses_calls(&Principal::local()) {
        std::thread::yield_now();
    }
    assert!(log.flush());
    assert_eq!((verify(folder.path(), None).unwrap().head.seq, log.lost()), (2, 0));
}

#[test]
fn what_finds_the_queue_full_is_counted_and_the_count_is_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let (log, _) = open(folder.path(), &settings());
    let locked = folder::AuditFolder::new(folder.path()).lock().unwrap();
    while log.lost() < 10 {
        log.keep(grant(0));
    }
    drop(locked);
    drop(log);
    verify(folder.path(), None).unwrap();
    let text = fs::read_to_string(folder.path().join("audit.jsonl")).unwrap();
    let gaps = text.lines().filter(|line| line.contains("\"what\":\"gap\""));
    let lost: u64 = gaps.map(|line| line::decode(line).unwrap().fields["records"].as_u64().unwrap()).sum();
    assert_eq!(lost, 10);
}

#[test]
fn what_guests_write_is_bounded() {
    let (folder, file) = log(0);
    let (log, _) = open(folder.path(), &settings());
    let (principal, plugin) = (Principal::local(), PluginId { side: policy::Side::Server, name: "p".into() });
    let scope = AuditScope { principal, plugin, digest: None, call: "c".into(), parent: None };
    let trail = CallAudit::new(Audit::new(Arc::new(log)), scope, Lineage::root("plugins.p.x", &Limits::default()));
    for _ in 0..1_000 {
        let target = "é\n".repeat(1 << 20);
        trail.record(AuditEvent::Denial {
            capability: "filesystem",
            target: target[..9_000].to_owned(),
            reason: "is not granted",
        });
    }
    trail.verdict(&"t".into(), "ok", Some(RecordedArguments::new("{}", KeepArguments::Full)), ResourceUsage::default());
    drop(trail);
    assert_eq!(verify(folder.path(), None).unwrap().head.seq, 257);
    let text = fs::read_to_string(file).unwrap();
    assert!(text.lines().all(|line| line.len() < 2_500));
    assert!(text.lines().last().unwrap().contains("\"argumentsText\":\"{}\",\"denials\":1000"));
}

#[test]
fn the_last_records_are_found_and_followed() {
    let (folder, _) = log(5);
    let lines = |entries: Vec<AuditLogEntry>| entries.iter().map(|entry| entry.text("line")).collect::<Vec<_>>();
    let (found, mut follower) = last_entries(folder.path(), 2, &EntryFilter::default()).unwrap();
    assert_eq!(lines(found), ["line 3", "line 4"]);
    assert_eq!(follower.read_new().unwrap(), []);
    let settings = AuditSettings { max_size: ByteSize::b(1), ..settings() };
    let (log, _) = open(folder.path(), &settings);
    for number in [5, 6] {
        log.keep(grant(number));
        assert!(log.flush());
    }
    assert_eq!(lines(follower.read_new().unwrap()), ["line 5", "line 6"], "into the next files");
    assert_eq!(follower.read_new().unwrap(), []);
    let none = EntryFilter { plugin: Some("p".into()), ..EntryFilter::default() };
    assert_eq!(last_entries(folder.path(), 9, &none).unwrap().0, []);
}
