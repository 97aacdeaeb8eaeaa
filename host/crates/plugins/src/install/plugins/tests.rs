//! Changes of what is installed: whole or not at all, wherever the machine stops.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use super::*;
use crate::install::disk::Step;
use crate::install::disk::testing::{Fate, decide};
use crate::package::{Claims, Inspection};
use crate::registry::Examined;
use platform::clock::SystemClock;
use policy::Side;
use std::path::Path;
use std::time::UNIX_EPOCH;

const STEPS: [Step; 7] = [
    Step::UserWritten,
    Step::UserNamed,
    Step::ComponentWritten,
    Step::ComponentNamed,
    Step::LockWritten,
    Step::LockNamed,
    Step::Pruned,
];

fn candidate(bytes: &[u8], version: &str, requests: &str) -> Candidate {
    let digest = Digest::of(bytes);
    let inspection = Inspection { size: bytes.len() as u64, ..Inspection::default() };
    let version = Version {
        version: Some(version.into()),
        digest: digest.clone(),
        size: bytes.len() as u64,
        resolved: "file:/a.wasm".into(),
        signer: None,
        fetched: UNIX_EPOCH,
        definitions: Digest::of(b"definitions"),
        imports: vec![],
        requests: toml::from_str(requests).unwrap(),
        claims: Claims::default(),
        published_claims: Claims::default(),
    };
    let offer = runtime::imports::Offer::default();
    Candidate { version, bytes: bytes.to_vec(), examined: Examined { digest, inspection, offer } }
}

fn plugins(folder: &Path) -> Plugins {
    let store = Store::new(&folder.join("state"));
    Plugins::new(folder.join("p.lock"), store, Audit::none(), Arc::new(SystemClock))
}

fn id() -> PluginId {
    PluginId { side: Side::Server, name: "a".into() }
}

fn grants(text: &str) -> Table {
    text.parse::<toml_edit::DocumentMut>().unwrap().into_table()
}

/// What is installed, and that every version the lock names is there with its bytes.
fn state(plugins: &Plugins) -> (Option<Digest>, Option<Digest>) {
    let lock = plugins.now().unwrap();
    let Some(entry) = lock.get(&id()) else { return (None, None) };
    for version in entry.versions() {
        assert_eq!(Digest::of(&std::fs::read(plugins.store.path(&version.digest)).unwrap()), version.digest);
    }
    (Some(entry.installed.digest.clone()), entry.staged.as_ref().map(|staged| staged.digest.clone()))
}

fn components(plugins: &Plugins) -> usize {
    let path = plugins.store.path(&Digest::of(b""));
    let names = std::fs::read_dir(path.parent().unwrap()).unwrap().map(|entry| entry.unwrap().file_name());
    names.filter(|name| name.to_string_lossy() != "users").count()
}

#[test]
fn a_plugin_comes_changes_and_goes() {
    let folder = tempfile::tempdir().unwrap();
    let plugins = plugins(folder.path());
    let (one, two) = (candidate(b"one", "1.0.0", "state = true"), candidate(b"two", "1.1.0", ""));
    plugins.install(&id(), "file:/a.wasm", &one, grants("state = {}")).unwrap();
    assert!(matches!(plugins.install(&id(), "x", &one, Table::new()), Err(InstallError::Installed(_))));
    let updated = plugins.update(&id(), &one.version.digest, &two, false).unwrap();
    assert!(matches!(updated, Updated::Swapped(_)));
    assert!(matches!(plugins.update(&id(), &one.version.digest, &two, false), Err(InstallError::Moved(_))));
    assert_eq!(components(&plugins), 2, "what was there before is kept");
    let three = candidate(b"three", "1.2.0", "state = true\nenv = [\"TZ\"]");
    assert!(matches!(plugins.update(&id(), &two.version.digest, &three, false).unwrap(), Updated::Staged(_)));
    assert_eq!(state(&plugins), (Some(Digest::of(b"two")), Some(Digest::of(b"three"))));
    plugins.discard(&id()).unwrap();
    assert!(matches!(plugins.discard(&id()), Err(InstallError::NothingStaged { .. })));
    plugins.update(&id(), &two.version.digest, &three, false).unwrap();
    assert!(matches!(plugins.accept(&id(), &Digest::of(b"two"), Table::new()), Err(InstallError::Moved(_))));
    plugins.accept(&id(), &Digest::of(b"three"), grants("state = {}\nenv = [\"TZ\"]")).unwrap();
    assert_eq!(state(&plugins), (Some(Digest::of(b"three")), None));
    let low = plugins.update(&id(), &Digest::of(b"three"), &one, false).unwrap_err();
    assert!(low.to_string().contains("--allow-downgrade"), "{low}");
    assert!(plugins.enable(&id(), false).unwrap() && !plugins.enable(&id(), false).unwrap());
    plugins.remove(&id()).unwrap();
    assert_eq!((state(&plugins), components(&plugins)), ((None, None), 0));
}

#[test]
fn a_grant_without_effect_is_a_slip_of_the_pen() {
    let folder = tempfile::tempdir().unwrap();
    let plugins = plugins(folder.path());
    let error = plugins.install(&id(), "x", &candidate(b"one", "1.0.0", ""), grants("env = [\"TZ\"]")).unwrap_err();
    assert!(error.to_string().contains("the grant `env` would have no effect"), "{error}");
    assert_eq!(state(&plugins), (None, None));
}

#[test]
fn what_another_configuration_uses_stays() {
    let folder = tempfile::tempdir().unwrap();
    let (one, other) =
        (plugins(folder.path()), Plugins { lock: folder.path().join("q.lock"), ..plugins(folder.path()) });
    let same = candidate(b"one", "1.0.0", "");
    one.install(&id(), "x", &same, Table::new()).unwrap();
    other.install(&id(), "x", &same, Table::new()).unwrap();
    one.remove(&id()).unwrap();
    assert_eq!(state(&other), (Some(Digest::of(b"one")), None));
    // What one cannot read, it may be needed for.
    std::fs::write(folder.path().join("p.lock"), "not TOML").unwrap();
    other.remove(&id()).unwrap();
    assert_eq!(components(&other), 1);
}

#[test]
fn a_disk_that_refuses_changes_nothing_or_everything() {
    for step in STEPS {
        let folder = tempfile::tempdir().unwrap();
        let plugins = plugins(folder.path());
        let new = candidate(b"one", "1.0.0", "");
        decide(Some(Fate::Fail(step)));
        let done = plugins.install(&id(), "x", &new, Table::new());
        decide(None);
        let (installed, _) = state(&plugins);
        // After the lock file has its name the plugin is installed, whatever is said then.
        assert_eq!(installed.is_some(), matches!(step, Step::LockNamed | Step::Pruned), "{step:?}: {done:?}");
        if installed.is_none() {
            assert!(done.is_err(), "{step:?}");
            plugins.install(&id(), "x", &new, Table::new()).unwrap();
            assert_eq!(state(&plugins).0, Some(Digest::of(b"one")));
        }
        assert_eq!(components(&plugins), 1, "{step:?}");
    }
}

#[test]
fn the_version_before_comes_back_with_what_both_were_given() {
    let folder = tempfile::tempdir().unwrap();
    let plugins = plugins(folder.path());
    let asks = "state = true\nenv = [\"TZ\", \"LANG\"]";
    let (one, two) = (candidate(b"one", "1.0.0", asks), candidate(b"two", "1.1.0", asks));
    let before = "# why\nenv = [\"TZ\"]\nstate = { keys = 5 }\n";
    plugins.install(&id(), "file:/a.wasm", &one, grants(before)).unwrap();
    let back = |to: &[u8]| plugins.roll_back(&id(), &Digest::of(to));
    assert!(matches!(back(b"one"), Err(InstallError::NothingBefore(_))));
    plugins.update(&id(), &one.version.digest, &two, false).unwrap();
    assert!(matches!(back(b"two"), Err(InstallError::Moved(_))));
    // Nothing was changed since: the operator's own words come back.
    assert_eq!(back(b"one").unwrap(), Vec::<String>::new());
    assert_eq!(state(&plugins), (Some(Digest::of(b"one")), Some(Digest::of(b"two"))));
    assert_eq!(plugins.now().unwrap().get(&id()).unwrap().grants_table().to_string(), before);
    assert!(matches!(back(b"one"), Err(InstallError::NothingBefore(_))));
    // More of one thing, less of another.
    plugins.accept(&id(), &Digest::of(b"two"), grants("env = [\"LANG\", \"TZ\"]\nstate = { keys = 3 }")).unwrap();
    assert_eq!(back(b"one").unwrap(), ["env = [\"LANG\"]"]);
    let lock = plugins.now().unwrap();
    let entry = lock.get(&id()).unwrap();
    assert_eq!((entry.grants.env.as_slice(), entry.grants.state.unwrap().keys), (&["TZ".to_owned()][..], 3));
    assert_eq!((entry.highest.as_deref(), entry.previous.is_none()), (Some("1.1.0"), true));
    assert_eq!(components(&plugins), 2);
}

#[test]
fn what_waits_already_goes_on_waiting_when_going_back() {
    let folder = tempfile::tempdir().unwrap();
    let plugins = plugins(folder.path());
    plugins.install(&id(), "x", &candidate(b"one", "1.0.0", ""), Table::new()).unwrap();
    plugins.update(&id(), &Digest::of(b"one"), &candidate(b"two", "1.1.0", ""), false).unwrap();
    plugins.update(&id(), &Digest::of(b"two"), &candidate(b"three", "1.2.0", "state = true"), false).unwrap();
    plugins.roll_back(&id(), &Digest::of(b"one")).unwrap();
    assert_eq!(state(&plugins), (Some(Digest::of(b"one")), Some(Digest::of(b"three"))));
    assert_eq!(components(&plugins), 2, "nobody names the second any more");
}

#[test]
fn a_version_that_is_not_there_as_it_was_is_not_gone_back_to() {
    let folder = tempfile::tempdir().unwrap();
    let plugins = plugins(folder.path());
    plugins.install(&id(), "x", &candidate(b"one", "1.0.0", ""), Table::new()).unwrap();
    plugins.update(&id(), &Digest::of(b"one"), &candidate(b"two", "1.1.0", ""), false).unwrap();
    let path = plugins.store.path(&Digest::of(b"one"));
    let text = std::fs::read(folder.path().join("p.lock")).unwrap();
    let gone = || matches!(plugins.roll_back(&id(), &Digest::of(b"one")), Err(InstallError::Gone { .. }));
    std::fs::remove_file(&path).unwrap();
    assert!(gone());
    std::fs::write(&path, b"other").unwrap();
    assert!(gone());
    assert_eq!(std::fs::read(folder.path().join("p.lock")).unwrap(), text);
}

/// What the process that dies does. It finds its work in the folder it is started in, where nobody else has such a file.
#[test]
fn dies_on_the_way() {
    let Ok(work) = std::fs::read_to_string("die-at") else { return };
    let (step, work) = work.split_once(' ').unwrap();
    decide(Some(Fate::Die(STEPS[step.parse::<usize>().unwrap()])));
    let (old, folder) = (Digest::of(b"one"), std::env::current_dir().unwrap());
    match work {
        "update" => drop(plugins(&folder).update(&id(), &old, &candidate(b"two", "1.1.0", ""), false).unwrap()),
        _ => drop(plugins(&folder).roll_back(&id(), &old).unwrap()),
    }
}

/// A process that begins some work in this folder, and dies at a step of it.
fn dying(folder: &Path, at: usize, work: &str) {
    let mut dying = std::process::Command::new(std::env::current_exe().unwrap());
    dying.args(["--exact", "install::plugins::tests::dies_on_the_way", "--nocapture"]);
    std::fs::write(folder.join("die-at"), format!("{at} {work}")).unwrap();
    let ended = dying.current_dir(folder).output().unwrap();
    assert!(!ended.status.success(), "{:?}: it was to die: {ended:?}", STEPS[at]);
}

#[test]
fn a_process_that_dies_while_it_goes_back_leaves_the_one_or_the_other() {
    for (at, step) in STEPS.iter().enumerate().skip(4) {
        let folder = tempfile::tempdir().unwrap();
        let plugins = plugins(folder.path());
        plugins.install(&id(), "x", &candidate(b"one", "1.0.0", ""), Table::new()).unwrap();
        plugins.update(&id(), &Digest::of(b"one"), &candidate(b"two", "1.1.0", ""), false).unwrap();
        dying(folder.path(), at, "roll back");
        let expected = match step {
            Step::LockNamed | Step::Pruned => (Some(Digest::of(b"one")), Some(Digest::of(b"two"))),
            _ => (Some(Digest::of(b"two")), None),
        };
        assert_eq!(state(&plugins), expected, "{step:?}");
        if expected.1.is_none() {
            plugins.roll_back(&id(), &Digest::of(b"one")).unwrap();
        }
        assert_eq!((state(&plugins).0, components(&plugins)), (Some(Digest::of(b"one")), 2), "{step:?}");
    }
}

#[test]
fn a_process_that_dies_leaves_the_old_or_the_new() {
    for (at, step) in STEPS.iter().enumerate().skip(2) {
        let folder = tempfile::tempdir().unwrap();
        let plugins = plugins(folder.path());
        plugins.install(&id(), "x", &candidate(b"one", "1.0.0", ""), Table::new()).unwrap();
        dying(folder.path(), at, "update");
        let new = matches!(step, Step::LockNamed | Step::Pruned);
        let expected = Digest::of(if new { b"two" } else { b"one" });
        assert_eq!(state(&plugins), (Some(expected.clone()), None), "{step:?}");
        // Nothing is in the way of the next one, and what was left behind goes.
        plugins.update(&id(), &expected, &candidate(b"three", "1.2.0", ""), false).unwrap();
        assert_eq!(state(&plugins).0, Some(Digest::of(b"three")), "{step:?}");
        assert_eq!(components(&plugins), 2, "{step:?}");
        let beside = std::fs::read_dir(folder.path()).unwrap().count();
        assert!(beside <= 4, "{step:?}: {beside} things in the folder of the lock file");
    }
}
