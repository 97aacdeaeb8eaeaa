//! Attacks on a quota: holes, removed and moved files, and calls at the same time.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use super::*;
use policy::{Authority, PluginId, Side};

fn authority() -> CallAuthority {
    let plugin = PluginId { side: Side::Agent, name: "p".into() };
    let (requests, grants) = (toml::from_str("scratch = true").unwrap(), toml::from_str("scratch = {}").unwrap());
    Arc::new(Authority::new(plugin, &requests, &grants)).into()
}

fn no_space<T: std::fmt::Debug>(result: io::Result<T>) {
    assert_eq!(result.unwrap_err().raw_os_error(), Some(Errno::NOSPC.raw_os_error()));
}

#[test]
fn holes_and_entries_count_and_overwrites_do_not() {
    let (quota, file) = (Arc::new(DiskQuota::new(64 << 10)), tempfile::tempfile().unwrap());
    let quota_use = QuotaUse::for_scratch(quota.clone(), authority());
    quota_use.add_entry().unwrap();
    quota_use.write(&file, Some(0), &[1; 1000]).unwrap();
    quota_use.write(&file, Some(0), &[2; 1000]).unwrap();
    quota_use.write(&file, None, &[3; 24]).unwrap();
    assert_eq!((quota_use.taken(), file.metadata().unwrap().len()), (ENTRY_SIZE + 1024, 1024));
    no_space(quota_use.write(&file, Some(1 << 40), &[1]));
    no_space(quota_use.resize(&file, 1 << 40));
    assert!(quota_use.write(&file, Some(u64::MAX), &[1]).is_err());
    assert_eq!(file.metadata().unwrap().len(), 1024, "nothing was written");
    quota_use.resize(&file, 60 << 10).unwrap();
    no_space(quota_use.write(&file, None, &[1]));
    quota_use.resize(&file, 0).unwrap();
    no_space(quota_use.resize(&file, 60 << 10));
    no_space(quota_use.add_entry());
}

/// Each call has its own quota for the granted directories.
#[test]
fn calls_that_add_to_one_file_at_the_same_time_lose_nothing() {
    const LINES: usize = 2_000;
    let file = tempfile::tempfile().unwrap();
    std::thread::scope(|scope| {
        for name in ["a", "b", "c", "d"] {
            let file = &file;
            scope.spawn(move || {
                let lineage = Lineage::root("p", &policy::Limits::default());
                let quota_use = QuotaUse::for_granted(lineage, authority());
                for _ in 0..LINES {
                    quota_use.write(file, None, format!("{name}\n").as_bytes()).unwrap();
                }
            });
        }
    });
    let mut text = vec![0; 8 * LINES];
    file.read_exact_at(&mut text, 0).unwrap();
    assert_eq!(file.metadata().unwrap().len(), text.len() as u64);
    for name in *b"abcd" {
        assert_eq!(text.iter().filter(|byte| **byte == name).count(), LINES);
    }
}

fn fill(quota_use: &QuotaUse) -> u64 {
    (0..).take_while(|_| quota_use.add_entry().is_ok()).count() as u64
}

#[test]
fn removed_files_free_space_for_the_next_call() {
    let quota = Arc::new(DiskQuota::new(10 * ENTRY_SIZE));
    let first = QuotaUse::for_scratch(quota.clone(), authority());
    assert_eq!(fill(&first), 10);
    drop(first);
    assert_eq!(fill(&QuotaUse::for_scratch(quota.clone(), authority())), 0, "not measured yet");
    assert!(quota.set_measured(quota.start_measuring(), 3 * ENTRY_SIZE));
    assert_eq!(fill(&QuotaUse::for_scratch(quota.clone(), authority())), 7);
}

#[test]
fn files_removed_while_open_free_no_space() {
    let quota = Arc::new(DiskQuota::new(10 * ENTRY_SIZE));
    drop({
        let first = QuotaUse::for_scratch(quota.clone(), authority());
        fill(&first);
        first
    });
    let holder = QuotaUse::for_scratch(quota.clone(), authority());
    // The holder has opened and removed everything, so a measurement sees nothing.
    assert!(quota.set_measured(quota.start_measuring(), 0));
    let next = QuotaUse::for_scratch(quota.clone(), authority());
    assert_eq!(fill(&next), 0);
    drop(holder);
    assert_eq!(fill(&next), 10, "the holder is over, and it was counted after what the first wrote");
}

#[test]
fn nothing_hides_from_measuring_by_moving() {
    let quota = Arc::new(DiskQuota::new(10 * ENTRY_SIZE));
    let mover = QuotaUse::for_scratch(quota.clone(), authority());
    assert_eq!(fill(&mover), 10);
    let measure = |meanwhile: &dyn Fn()| {
        let moment = quota.start_measuring();
        meanwhile();
        quota.set_measured(moment, 0)
    };
    assert!(!measure(&|| drop(mover.start_moving())));
    let began_before = mover.start_moving();
    assert!(!measure(&|| {}));
    let moment = quota.start_measuring();
    drop(began_before);
    assert!(!quota.set_measured(moment, 0));
    drop(mover);
    assert_eq!(fill(&QuotaUse::for_scratch(quota.clone(), authority())), 0, "what was moved still counts");
    assert!(measure(&|| {}));
    assert_eq!(fill(&QuotaUse::for_scratch(quota.clone(), authority())), 10);
}

#[test]
fn a_directory_is_full_until_it_was_measured() {
    let quota = Arc::new(DiskQuota::unmeasured(10 * ENTRY_SIZE));
    assert_eq!(fill(&QuotaUse::for_scratch(quota.clone(), authority())), 0);
    assert!(quota.set_measured(quota.start_measuring(), 9 * ENTRY_SIZE));
    assert_eq!(fill(&QuotaUse::for_scratch(quota.clone(), authority())), 1);
}

#[test]
fn concurrent_calls_share_one_quota() {
    let (quota, folder) = (Arc::new(DiskQuota::new(1 << 20)), tempfile::tempdir().unwrap());
    let whole = || {
        let files = std::fs::read_dir(folder.path()).unwrap();
        files.map(|entry| entry.unwrap().metadata().unwrap().len()).sum::<u64>()
    };
    std::thread::scope(|scope| {
        for number in 0..8 {
            let (quota, path, whole) = (quota.clone(), folder.path().join(number.to_string()), &whole);
            scope.spawn(move || {
                let file = File::create(path).unwrap();
                // Several calls in sequence; each starts with a measurement, as all calls do.
                for _ in 0..8 {
                    let moment = quota.start_measuring();
                    quota.set_measured(moment, whole());
                    let quota_use = QuotaUse::for_scratch(quota.clone(), authority());
                    for _ in 0..8 {
                        let _ = quota_use.write(&file, None, &[7; 5000]);
                    }
                }
            });
        }
    });
    let whole = whole();
    assert!(whole <= 1 << 20 && whole > (1 << 20) - 8 * 5000, "{whole}");
}
