//! Principals that cause endless records in order to push out the records of others.

use super::super::*;
use super::open;
use crate::telemetry::ResourceUsage;
use bytesize::ByteSize;
use policy::{PluginId, Principal};
use std::num::NonZeroU32;
use std::path::Path;
use tempfile::TempDir;

/// How many calls the victim records before others begin.
const CALLS: usize = 10;

fn by(principal: &str, event: AuditEvent) -> AuditRecord {
    let plugin = PluginId { side: policy::Side::Server, name: "p".into() };
    let principal = Some(Principal::from_source("key", principal));
    AuditRecord { principal, plugin: Some(plugin), digest: None, call: Some("c".into()), parent: None, event }
}

fn denial() -> AuditEvent {
    AuditEvent::Denial { capability: "filesystem", target: "/etc/passwd".to_owned(), reason: "is not granted" }
}

fn call() -> AuditEvent {
    let cost = ResourceUsage::default();
    AuditEvent::Verdict { tool: "t".into(), outcome: "ok", arguments: None, denials: 0, cost }
}

/// A log with small files, in which a victim left a denial and some calls.
fn log_of_victim(size: ByteSize) -> (TempDir, FileAuditLog) {
    let folder = tempfile::tempdir().unwrap();
    let keep = NonZeroU32::new(2).unwrap();
    let settings = AuditSettings { max_size: size, keep, required: true, ..AuditSettings::default() };
    let (log, _) = open(folder.path(), &settings);
    log.keep(by("victim", denial()));
    (0..CALLS).for_each(|_| log.keep(by("victim", call())));
    assert!(log.flush());
    (folder, log)
}

/// Records all of them, even if they are more than the queue holds at once.
fn keep_all(log: &FileAuditLog, records: impl Iterator<Item = AuditRecord>) {
    for (number, record) in records.enumerate() {
        log.keep(record);
        assert!(number % 500 != 499 || log.flush());
    }
    assert!(log.flush() && log.lost() == 0);
}

/// The denials and the calls of a principal that are still in the log.
fn kept(folder: &Path, principal: &str) -> (usize, usize) {
    let filter = EntryFilter { principal: Some(format!("key:{principal}")), ..EntryFilter::default() };
    let (mut denials, mut calls) = (0, 0);
    let count = |entry: AuditLogEntry| {
        denials += usize::from(entry.text("event") == "denial");
        calls += usize::from(entry.text("event") == "verdict");
        Ok(())
    };
    for_each_entry(folder, &filter, count).unwrap();
    (denials, calls)
}

#[test]
fn nobody_rotates_the_records_of_others_away() {
    let (mut held, mut all) = (0, 0);
    let mut victim = |what: &str, folder: &Path, calls: usize| {
        let report = verify(folder, None).unwrap();
        assert!(report.first > CALLS as u64 + 1 && report.archived > 0, "the first files are gone: {report:?}");
        let (denials_kept, calls_kept) = kept(folder, "victim");
        eprintln!("{what}: {denials_kept} of 1 denials and {calls_kept} of {calls} calls of the victim are kept");
        (held, all) = (held + denials_kept + calls_kept.min(calls), all + 1 + calls);
    };
    let small = ByteSize::kib(64);
    for (what, event) in [("calls", call as fn() -> AuditEvent), ("denials", denial)] {
        let (folder, log) = log_of_victim(small);
        keep_all(&log, (0..20_000).map(|_| by("mallory", event())));
        victim(what, folder.path(), CALLS);
        let (denials, calls) = kept(folder.path(), "mallory");
        assert!(denials + calls > 200, "mallory's newest records are kept, too: {denials} and {calls}");
    }
    // A denial each counts less than a call each; both of all do not fit.
    let (folder, log) = log_of_victim(ByteSize::mib(4));
    let crowd = (0..10_000).map(|number| format!("crowd-{number}"));
    keep_all(&log, crowd.flat_map(|name| [denial(), call(), call(), call()].map(|event| by(&name, event))));
    victim("10,000 principals", folder.path(), 0);
    let (folder, log) = log_of_victim(small);
    keep_all(&log, (0..100_000).map(|number| by(&format!("crowd-{number}"), call())));
    victim("100,000 principals", folder.path(), 0);
    eprintln!("hostile: rotation: {held} of {all} records of others are kept");
    assert_eq!(held, all);
}

#[test]
fn nobody_takes_the_whole_queue() {
    let (folder, log) = log_of_victim(ByteSize::mib(64));
    // The lock has the effect of a slow disk.
    let locked = folder::AuditFolder::new(folder.path()).lock().unwrap();
    while log.lost() < 1_000 {
        log.keep(by("mallory", denial()));
    }
    (0..100).for_each(|_| log.keep(by("victim", denial())));
    let refuses = |name: &str| log.refuses_calls(&Principal::from_source("key", name));
    assert!(refuses("mallory") && !refuses("victim"), "only those wait whose records are lost");
    drop(locked);
    drop(log);
    let denials = kept(folder.path(), "victim").0 - 1;
    eprintln!("hostile: queue: {denials} of 100 records of others are kept beside a flood");
    assert_eq!(denials, 100);
    let (mut records, mut decisions) = (0, 0);
    let count = |entry: AuditLogEntry| {
        records += entry.fields.get("records").map_or(0, |number| number.as_u64().unwrap());
        decisions += entry.fields.get("decisions").map_or(0, |number| number.as_u64().unwrap());
        Ok(())
    };
    for_each_entry(folder.path(), &EntryFilter::default(), count).unwrap();
    assert_eq!((records, decisions), (1_000, 1_000), "what was lost is counted by its kind");
}
