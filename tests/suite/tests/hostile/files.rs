//! Tries every file operation on every path out of a granted directory: nothing outside is read or changed.

use super::paths;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use suite::home::{SECRET, fingerprint};
use suite::{Client, Home, Server, paths::guest, plugin_from};

/// The operations of the guest `files`.
pub(crate) const OPERATIONS: [&str; 12] = [
    "read",
    "write",
    "create",
    "truncate",
    "append",
    "mkdir",
    "remove",
    "rename-to",
    "rename-from",
    "link",
    "times",
    "list",
];

/// A granted tree beside trees that are not granted.
struct Trees {
    client: Client,
    fixture: PathBuf,
}

impl Trees {
    fn new() -> Self {
        let home = Home::new();
        let fixture = home.path().join("fixture");
        for folder in ["work", "outside/hidden-name", "work-evil"] {
            fs::create_dir_all(fixture.join(folder)).unwrap();
        }
        // No other file has this length, so its size alone would reveal a leak.
        fs::write(fixture.join("outside/secret.txt"), SECRET.to_owned() + &" ".repeat(31_337 - SECRET.len())).unwrap();
        fs::write(fixture.join("work-evil/secret.txt"), SECRET).unwrap();
        let grant = |access| {
            format!(
                "grants.filesystem = [{{ host = \"fixture/work\", guest = \"/work\", access = \"{access}\" }}]\n\
                 limits.fuel = 1_000_000_000_000\nlimits.deadline = \"2m\""
            )
        };
        let config = plugin_from("read", &guest("files"), &grant("read"))
            + &plugin_from("write", &guest("files"), &grant("write"))
            + &suite::plugin("echo", "");
        Self { client: Client::of_server(Server::start_in(home, &config)), fixture }
    }

    fn work(&self) -> PathBuf {
        self.fixture.join("work")
    }

    /// A fingerprint of everything outside: names, kinds, modes, times, contents.
    fn outside(&self) -> String {
        let changed = fs::metadata(&self.fixture).unwrap().modified().unwrap();
        let mut names: Vec<_> = fs::read_dir(&self.fixture).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        let trees = ["outside", "work-evil"].map(|tree| fingerprint(&self.fixture.join(tree)));
        format!("{changed:?} {names:?}\n{}", trees.concat())
    }

    /// Has the guest try one operation on paths; returns path, outcome, what was found and how often.
    fn attempt(&mut self, plugin: &str, operation: &str, paths: &[String], rounds: Option<u64>) -> Vec<Value> {
        let told = json!({"operation": operation, "paths": paths}).to_string();
        let arguments = match rounds {
            None => json!({"path": told}),
            Some(rounds) => json!({"path": told, "n": rounds}),
        };
        let said = self.client.run(plugin, arguments).good();
        let came: Vec<Value> = serde_json::from_str(said.lines().next().unwrap()).unwrap();
        for found in came.iter().filter_map(|came| came[2].as_str()) {
            let told =
                [SECRET, "hidden-name", "31337", "root:", "PORTCULLIS_"].iter().find(|told| found.contains(**told));
            assert_eq!(told, None, "{plugin} {operation}: {said}");
        }
        came
    }
}

#[test]
#[allow(clippy::print_stdout, reason = "the figure is for whoever wants to see it")]
fn no_path_leads_out() {
    let mut trees = Trees::new();
    let (work, outside) = (trees.work(), trees.fixture.join("outside"));
    let paths = paths::all(&outside);
    let before = trees.outside();
    let (mut pairs, mut attempts, mut refused) = (0, 0, 0);
    for plugin in ["read", "write"] {
        pairs = 0;
        for operation in OPERATIONS {
            paths::fill(&work, &outside).unwrap();
            let tree = fingerprint(&work);
            let came = trees.attempt(plugin, operation, &paths, None);
            assert_eq!(trees.outside(), before, "{plugin} {operation}: {came:?}");
            if plugin == "read" {
                assert_eq!(fingerprint(&work), tree, "changed by {operation} with a grant to read: {came:?}");
            }
            for path in &paths {
                let of_path = || came.iter().filter(|came| came[0] == **path);
                assert_eq!(of_path().filter_map(|came| came[3].as_u64()).sum::<u64>(), 2, "{operation} {path:?}");
                pairs += 1;
                attempts += 2;
                refused += of_path().filter(|came| came[1] != "ok").count();
            }
        }
    }
    trees.client.check_alive();
    assert_eq!(pairs, 1440);
    println!("hostile: files: {pairs} of {pairs} pairs contained, read-only and writable, in {attempts} attempts");
    assert!(refused > pairs, "most of them are refused, not only harmless: {refused}");
}

/// Swaps one name between a folder of the tree and the tree outside, as fast as possible.
fn swap(work: &Path, stop: &AtomicBool) -> u64 {
    let (here, folder, link) = (work.join("swap"), work.join("folder"), work.join("link"));
    let mut swaps = 0;
    while !stop.load(Ordering::Relaxed) {
        for other in [&folder, &link] {
            fs::rename(other, &here).unwrap();
            std::thread::yield_now();
            fs::rename(&here, other).unwrap();
            swaps += 1;
        }
    }
    swaps
}

#[test]
#[allow(clippy::print_stdout, reason = "the figure is for whoever wants to see it")]
fn no_race_leads_out() {
    let mut trees = Trees::new();
    let work = trees.work();
    fs::create_dir(work.join("folder")).unwrap();
    fs::write(work.join("folder/secret.txt"), "inside").unwrap();
    std::os::unix::fs::symlink("../outside", work.join("link")).unwrap();
    let before = trees.outside();
    let paths = ["swap/secret.txt", "swap/new.txt", "swap/../swap/secret.txt", "swap/hidden-name"].map(str::to_owned);
    let (mut attempts, mut inside) = (0, 0);
    let stop = AtomicBool::new(false);
    let swaps = std::thread::scope(|scope| {
        let swapping = scope.spawn(|| swap(&work, &stop));
        for operation in ["read", "append", "list", "rename-to", "rename-from", "times", "mkdir", "remove"] {
            let came = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                trees.attempt("write", operation, &paths, Some(1_000))
            }));
            let Ok(came) = came else {
                stop.store(true, Ordering::Relaxed);
                panic!("{operation}: see above");
            };
            let count = |came: &Value| came[3].as_u64().unwrap();
            attempts += came.iter().map(count).sum::<u64>();
            inside += came.iter().filter(|came| came[1] == "ok").map(count).sum::<u64>();
        }
        stop.store(true, Ordering::Relaxed);
        swapping.join().unwrap()
    });
    assert_eq!(trees.outside(), before);
    trees.client.check_alive();
    assert!(swaps > 1_000 && inside > 100, "it was no race: {swaps} swaps, {inside} attempts got anywhere");
    println!("hostile: race: 0 escapes in {attempts} attempts, {inside} of them inside, during {swaps} swaps");
}
