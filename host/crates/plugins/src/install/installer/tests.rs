//! Changes of the installed plugins are atomic, wherever the process or the machine stops.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use super::*;
use crate::install::atomic_file::WriteStep;
use crate::install::atomic_file::testing::{Fault, inject};
use crate::loading::ExaminedComponent;
use crate::package::{Claims, Inspection};
use platform::clock::SystemClock;
use policy::{DataKey, Side};
use std::path::Path;
use std::time::UNIX_EPOCH;

const STEPS: [WriteStep; 7] = [
    WriteStep::UsersWritten,
    WriteStep::UsersRenamed,
    WriteStep::ComponentWritten,
    WriteStep::ComponentRenamed,
    WriteStep::LockfileWritten,
    WriteStep::LockfileRenamed,
    WriteStep::Pruned,
];

fn candidate(bytes: &[u8], version: &str, requests: &str) -> Candidate {
    let digest = Digest::sha256(bytes);
    let inspection = Inspection { size: bytes.len() as u64, ..Inspection::default() };
    let version = PluginVersion {
        version: Some(version.into()),
        digest: digest.clone(),
        size: bytes.len() as u64,
        resolved: "file:/a.wasm".into(),
        reference: None,
        signer: Some("minisign:ab".into()),
        fetched: UNIX_EPOCH,
        definitions: Digest::sha256(b"definitions"),
        imports: vec![],
        requests: toml::from_str(requests).unwrap(),
        claims: Claims::default(),
        published_claims: Claims::default(),
    };
    let offer = runtime::imports::Offer::default();
    Candidate { version, bytes: bytes.to_vec(), examined: ExaminedComponent { digest, inspection, offer } }
}

fn plugins(folder: &Path) -> Installer {
    let store = ComponentStore::new(&folder.join("state"));
    Installer::new(folder.join("p.lock"), store, Audit::none(), Arc::new(SystemClock))
}

fn id() -> PluginId {
    PluginId { side: Side::Server, name: "a".into() }
}

/// Where all of them are installed from.
const REFERENCE: &str = "x";

fn data() -> DataKey {
    DataKey::installed(&id(), "file:/a.wasm")
}

fn grants(text: &str) -> Table {
    text.parse::<toml_edit::DocumentMut>().unwrap().into_table()
}

/// The digests of the installed and the staged version. Checks that the store has every version of the lock file.
fn versions(plugins: &Installer) -> (Option<Digest>, Option<Digest>) {
    let lock = plugins.load_lockfile().unwrap();
    let Some(entry) = lock.get(&id()) else { return (None, None) };
    for version in entry.versions() {
        assert_eq!(Digest::sha256(&std::fs::read(plugins.store.path(&version.digest)).unwrap()), version.digest);
    }
    (Some(entry.installed.digest.clone()), entry.staged.as_ref().map(|staged| staged.digest.clone()))
}

fn components(plugins: &Installer) -> usize {
    let path = plugins.store.path(&Digest::sha256(b""));
    let names = std::fs::read_dir(path.parent().unwrap()).unwrap().map(|entry| entry.unwrap().file_name());
    names.filter(|name| name.to_string_lossy() != "users").count()
}

#[test]
fn a_plugin_is_installed_updated_and_removed() {
    let folder = tempfile::tempdir().unwrap();
    let plugins = plugins(folder.path());
    let (one, two) = (candidate(b"one", "1.0.0", "state = true"), candidate(b"two", "1.1.0", ""));
    plugins.install(&id(), "file:/a.wasm", &data(), &one, grants("state = {}")).unwrap();
    assert!(matches!(plugins.install(&id(), "x", &data(), &one, Table::new()), Err(InstallError::Installed(_))));
    let updated = plugins.update(&id(), &one.version.digest, (REFERENCE, &two), false).unwrap();
    assert!(matches!(updated, UpdateOutcome::Installed(_)));
    assert!(matches!(
        plugins.update(&id(), &one.version.digest, (REFERENCE, &two), false),
        Err(InstallError::Changed(_))
    ));
    assert_eq!(components(&plugins), 2, "the previous version is kept");
    let three = candidate(b"three", "1.2.0", "state = true\nenv = [\"TZ\"]");
    assert!(matches!(
        plugins.update(&id(), &two.version.digest, (REFERENCE, &three), false).unwrap(),
        UpdateOutcome::Staged(_)
    ));
    assert_eq!(versions(&plugins), (Some(Digest::sha256(b"two")), Some(Digest::sha256(b"three"))));
    plugins.discard(&id()).unwrap();
    assert!(matches!(plugins.discard(&id()), Err(InstallError::NothingStaged { .. })));
    plugins.update(&id(), &two.version.digest, (REFERENCE, &three), false).unwrap();
    assert!(matches!(plugins.accept(&id(), &Digest::sha256(b"two"), Table::new()), Err(InstallError::Changed(_))));
    plugins.accept(&id(), &Digest::sha256(b"three"), grants("state = {}\nenv = [\"TZ\"]")).unwrap();
    assert_eq!(versions(&plugins), (Some(Digest::sha256(b"three")), None));
    let low = plugins.update(&id(), &Digest::sha256(b"three"), (REFERENCE, &one), false).unwrap_err();
    assert!(low.to_string().contains("--allow-downgrade"), "{low}");
    assert!(plugins.set_enabled(&id(), false).unwrap() && !plugins.set_enabled(&id(), false).unwrap());
    plugins.remove(&id()).unwrap();
    assert_eq!((versions(&plugins), components(&plugins)), ((None, None), 0));
}

#[test]
fn a_grant_without_effect_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let plugins = plugins(folder.path());
    let error =
        plugins.install(&id(), "x", &data(), &candidate(b"one", "1.0.0", ""), grants("env = [\"TZ\"]")).unwrap_err();
    assert!(error.to_string().contains("the grant `env` would have no effect"), "{error}");
    assert_eq!(versions(&plugins), (None, None));
}

#[test]
fn components_of_another_configuration_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let (one, other) =
        (plugins(folder.path()), Installer { lockfile: folder.path().join("q.lock"), ..plugins(folder.path()) });
    let same = candidate(b"one", "1.0.0", "");
    one.install(&id(), "x", &data(), &same, Table::new()).unwrap();
    other.install(&id(), "x", &data(), &same, Table::new()).unwrap();
    one.remove(&id()).unwrap();
    assert_eq!(versions(&other), (Some(Digest::sha256(b"one")), None));
    // The damaged lock file may still refer to the component.
    std::fs::write(folder.path().join("p.lock"), "not TOML").unwrap();
    other.remove(&id()).unwrap();
    assert_eq!(components(&other), 1);
}

#[test]
fn a_failing_disk_leaves_the_old_state_or_the_new() {
    for step in STEPS {
        let folder = tempfile::tempdir().unwrap();
        let plugins = plugins(folder.path());
        let new = candidate(b"one", "1.0.0", "");
        inject(Some(Fault::Fail(step)));
        let result = plugins.install(&id(), "x", &data(), &new, Table::new());
        inject(None);
        let (installed, _) = versions(&plugins);
        // Once the lock file is renamed the plugin is installed, even if an error is returned.
        assert_eq!(
            installed.is_some(),
            matches!(step, WriteStep::LockfileRenamed | WriteStep::Pruned),
            "{step:?}: {result:?}"
        );
        if installed.is_none() {
            assert!(result.is_err(), "{step:?}");
            plugins.install(&id(), "x", &data(), &new, Table::new()).unwrap();
            assert_eq!(versions(&plugins).0, Some(Digest::sha256(b"one")));
        }
        assert_eq!(components(&plugins), 1, "{step:?}");
    }
}

#[test]
fn a_rollback_gives_the_intersection_of_both_grants() {
    let folder = tempfile::tempdir().unwrap();
    let plugins = plugins(folder.path());
    let asks = "state = true\nenv = [\"TZ\", \"LANG\"]";
    let (one, two) = (candidate(b"one", "1.0.0", asks), candidate(b"two", "1.1.0", asks));
    let before = "# why\nenv = [\"TZ\"]\nstate = { keys = 5 }\n";
    plugins.install(&id(), "file:/a.wasm", &data(), &one, grants(before)).unwrap();
    let back = |to: &[u8]| plugins.roll_back(&id(), &Digest::sha256(to));
    assert!(matches!(back(b"one"), Err(InstallError::NoPrevious(_))));
    plugins.update(&id(), &one.version.digest, (REFERENCE, &two), false).unwrap();
    assert!(matches!(back(b"two"), Err(InstallError::Changed(_))));
    // Nothing was changed since, so the operator's text is restored.
    assert_eq!(back(b"one").unwrap(), Vec::<String>::new());
    assert_eq!(versions(&plugins), (Some(Digest::sha256(b"one")), Some(Digest::sha256(b"two"))));
    assert_eq!(plugins.load_lockfile().unwrap().get(&id()).unwrap().grants_table().to_string(), before);
    assert!(matches!(back(b"one"), Err(InstallError::NoPrevious(_))));
    // More of one thing, less of another.
    plugins.accept(&id(), &Digest::sha256(b"two"), grants("env = [\"LANG\", \"TZ\"]\nstate = { keys = 3 }")).unwrap();
    assert_eq!(back(b"one").unwrap(), ["env = [\"LANG\"]"]);
    let lock = plugins.load_lockfile().unwrap();
    let entry = lock.get(&id()).unwrap();
    assert_eq!((entry.grants.env.as_slice(), entry.grants.state.as_ref().unwrap().keys), (&["TZ".to_owned()][..], 3));
    assert_eq!((entry.highest.as_deref(), entry.previous.is_none()), (Some("1.1.0"), true));
    assert_eq!(components(&plugins), 2);
}

#[test]
fn a_rollback_keeps_the_staged_version() {
    let folder = tempfile::tempdir().unwrap();
    let plugins = plugins(folder.path());
    plugins.install(&id(), "x", &data(), &candidate(b"one", "1.0.0", ""), Table::new()).unwrap();
    plugins.update(&id(), &Digest::sha256(b"one"), (REFERENCE, &candidate(b"two", "1.1.0", "")), false).unwrap();
    plugins
        .update(&id(), &Digest::sha256(b"two"), (REFERENCE, &candidate(b"three", "1.2.0", "state = true")), false)
        .unwrap();
    plugins.roll_back(&id(), &Digest::sha256(b"one")).unwrap();
    assert_eq!(versions(&plugins), (Some(Digest::sha256(b"one")), Some(Digest::sha256(b"three"))));
    assert_eq!(components(&plugins), 2, "the second version is unused");
}

#[test]
fn a_rollback_needs_an_intact_component() {
    let folder = tempfile::tempdir().unwrap();
    let plugins = plugins(folder.path());
    plugins.install(&id(), "x", &data(), &candidate(b"one", "1.0.0", ""), Table::new()).unwrap();
    plugins.update(&id(), &Digest::sha256(b"one"), (REFERENCE, &candidate(b"two", "1.1.0", "")), false).unwrap();
    let path = plugins.store.path(&Digest::sha256(b"one"));
    let text = std::fs::read(folder.path().join("p.lock")).unwrap();
    let is_missing =
        || matches!(plugins.roll_back(&id(), &Digest::sha256(b"one")), Err(InstallError::MissingComponent { .. }));
    std::fs::remove_file(&path).unwrap();
    assert!(is_missing());
    std::fs::write(&path, b"other").unwrap();
    assert!(is_missing());
    assert_eq!(std::fs::read(folder.path().join("p.lock")).unwrap(), text);
}

/// Runs in a child process, which aborts at the step that the file `abort-at` in its folder names. Without that file it does
/// nothing.
#[test]
fn aborts_at_a_step() {
    let Ok(work) = std::fs::read_to_string("abort-at") else { return };
    let (step, work) = work.split_once(' ').unwrap();
    inject(Some(Fault::Abort(STEPS[step.parse::<usize>().unwrap()])));
    let (old, folder) = (Digest::sha256(b"one"), std::env::current_dir().unwrap());
    match work {
        "update" => {
            drop(plugins(&folder).update(&id(), &old, (REFERENCE, &candidate(b"two", "1.1.0", "")), false).unwrap())
        }
        _ => drop(plugins(&folder).roll_back(&id(), &old).unwrap()),
    }
}

/// Runs a child process that changes the plugins in this folder and aborts at a step.
fn run_aborting(folder: &Path, at: usize, work: &str) {
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "install::installer::tests::aborts_at_a_step", "--nocapture"]);
    std::fs::write(folder.join("abort-at"), format!("{at} {work}")).unwrap();
    let ended = child.current_dir(folder).output().unwrap();
    assert!(!ended.status.success(), "{:?}: it should abort: {ended:?}", STEPS[at]);
}

#[test]
fn a_crash_during_a_rollback_leaves_the_old_state_or_the_new() {
    for (at, step) in STEPS.iter().enumerate().skip(4) {
        let folder = tempfile::tempdir().unwrap();
        let plugins = plugins(folder.path());
        plugins.install(&id(), "x", &data(), &candidate(b"one", "1.0.0", ""), Table::new()).unwrap();
        plugins.update(&id(), &Digest::sha256(b"one"), (REFERENCE, &candidate(b"two", "1.1.0", "")), false).unwrap();
        run_aborting(folder.path(), at, "roll back");
        let expected = match step {
            WriteStep::LockfileRenamed | WriteStep::Pruned => {
                (Some(Digest::sha256(b"one")), Some(Digest::sha256(b"two")))
            }
            _ => (Some(Digest::sha256(b"two")), None),
        };
        assert_eq!(versions(&plugins), expected, "{step:?}");
        if expected.1.is_none() {
            plugins.roll_back(&id(), &Digest::sha256(b"one")).unwrap();
        }
        assert_eq!((versions(&plugins).0, components(&plugins)), (Some(Digest::sha256(b"one")), 2), "{step:?}");
    }
}

#[test]
fn a_crash_during_an_update_leaves_the_old_state_or_the_new() {
    for (at, step) in STEPS.iter().enumerate().skip(2) {
        let folder = tempfile::tempdir().unwrap();
        let plugins = plugins(folder.path());
        plugins.install(&id(), "x", &data(), &candidate(b"one", "1.0.0", ""), Table::new()).unwrap();
        run_aborting(folder.path(), at, "update");
        let new = matches!(step, WriteStep::LockfileRenamed | WriteStep::Pruned);
        let expected = Digest::sha256(if new { b"two" } else { b"one" });
        assert_eq!(versions(&plugins), (Some(expected.clone()), None), "{step:?}");
        // The next update works, and removes what the crash left behind.
        plugins.update(&id(), &expected, (REFERENCE, &candidate(b"three", "1.2.0", "")), false).unwrap();
        assert_eq!(versions(&plugins).0, Some(Digest::sha256(b"three")), "{step:?}");
        assert_eq!(components(&plugins), 2, "{step:?}");
        let beside = std::fs::read_dir(folder.path()).unwrap().count();
        assert!(beside <= 4, "{step:?}: {beside} files beside the lock file");
    }
}
