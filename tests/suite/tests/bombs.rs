//! Components that are small to send and large to compile: refused, or compiled in bounded time, never a crash.

#[path = "bombs/shapes.rs"]
mod shapes;

use crate::install::{CONFIG, plugin};
use crate::reload::replace;
use serde_json::json;
use shapes::{BOMBS, Base};
use std::fmt::Write as _;
use std::fs;
use std::time::{Duration, Instant};
use suite::{Client, Era, Home, Ran, Server, eventually, forge, paths, plugin_from, portcullis};

/// The memory that the server may keep after all bombs: each thread that has parsed a file of some MiB keeps a buffer
/// for it. A leak would grow with the number of bombs.
const LEFT: u64 = 24 << 20;
/// Files of this size come first; the memory that the server uses then is the baseline.
const LARGE: usize = 4 << 20;
/// The time limit until the server logs a result for a bomb: compile time and waiting for a worker.
const PATIENCE: Duration = Duration::from_secs(120);

/// The compiler's own limit is 30 s; the rest is for starting it.
const BOUND: Duration = Duration::from_secs(45);

fn check(bytes: &[u8]) -> Ran {
    let home = Home::new();
    let file = home.write("bomb.wasm", bytes);
    let ran = portcullis(&home, &["check", &file.display().to_string()]);
    assert!(ran.status == Some(0) || !ran.refused().is_empty());
    assert!(ran.took < BOUND, "it took {:?}", ran.took);
    ran
}

#[test]
fn a_huge_function_body_is_bounded() {
    let mut body = String::from("(func $run (local i64) ");
    for number in 0..200_000 {
        let _ = write!(body, "(local.set 0 (i64.add (local.get 0) (i64.const {number})))");
    }
    check(&forge::plugin(&(body + ")")));
}

#[test]
fn a_function_with_many_locals_is_bounded() {
    let mut body = format!("(func $run (local{}) ", " i64".repeat(49_000));
    for number in 0..2_000 {
        let _ = write!(body, "(local.set {number} (i64.mul (local.get {}) (i64.const 3)))", 48_999 - number);
    }
    check(&forge::plugin(&(body + ")")));
}

#[test]
fn a_huge_jump_table_is_bounded() {
    let table = " 0".repeat(500_000);
    check(&forge::plugin(&format!("(func $run (block (br_table{table} (i32.const 1))))")));
}

/// The compiler's own checks of what it makes, which only a build for its authors has, recurse once for each.
#[test]
fn deeply_nested_blocks_are_bounded() {
    check(&Base::new().blocks(690_000));
}

#[test]
fn deeply_nested_components_are_bounded() {
    let nested = wat::parse_str(format!("(component {} {})", "(component ".repeat(400), ")".repeat(400)));
    if let Ok(bytes) = nested {
        let ran = check(&bytes);
        assert!(ran.stderr.contains("limit") || ran.stderr.contains("not a valid component"), "{}", ran.stderr);
    }
    let many = wat::parse_str(format!("(component {})", "(core module)".repeat(2_000))).unwrap();
    assert!(check(&many).refused().contains("nested modules"), "too many modules are counted");
}

#[test]
fn too_many_functions_are_refused() {
    let mut functions = String::from("(func $run)");
    for _ in 0..250_000 {
        functions.push_str("(func)");
    }
    assert!(check(&forge::plugin(&functions)).refused().contains("functions"), "functions are counted");
}

/// The server's log lines about changed files, one for each.
fn said(server: &Server) -> Vec<String> {
    let log = server.log();
    let about = |line: &&str| line.contains("the old version stays") || line.contains(" reloaded: ");
    log.lines().filter(about).map(str::to_owned).collect()
}

/// The number of running child processes.
fn children(parent: u32) -> usize {
    let started_by = |status: String| status.lines().any(|line| line == format!("PPid:\t{parent}"));
    let processes = fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|entry| fs::read_to_string(entry.path().join("status")).ok())
        .filter(|s| started_by(s.clone()))
        .count()
}

/// Tries to install each bomb; returns the failures and the longest duration.
fn install_all() -> (Vec<String>, Duration) {
    let (home, base) = (Home::new(), Base::new());
    home.write("portcullis.toml", CONFIG);
    let (mut wrong, mut longest) = (vec![], Duration::ZERO);
    for bomb in BOMBS {
        fs::write(home.path().join("bomb.wasm"), (bomb.bytes)(&base)).unwrap();
        let ran = plugin(&home, &["install", "./bomb.wasm", "--yes"]);
        if !ran.refused().contains(bomb.words) {
            wrong.push(format!("install: {}: {}", bomb.what, ran.stderr));
        }
        assert!(!home.path().join("portcullis.lock").exists(), "{}: something was installed", bomb.what);
        longest = longest.max(ran.took);
    }
    (wrong, longest)
}

#[test]
fn every_bomb_is_refused_or_killed_while_a_server_runs() {
    assert!(BOMBS.len() >= 24);
    let (home, base) = (Home::new(), Base::new());
    let file = home.write("bomb.wasm", forge::plugin("(func $run (local i32))"));
    let config = plugin_from("echo", &paths::guest("echo"), "") + &plugin_from("bomb", &file, "");
    let mut client = Client::new(Server::start_in(home, &config), Era::Modern, false);
    let control = |client: &mut Client| client.run("echo", json!({})).good().to_owned();
    let first = control(&mut client);
    let installing = std::thread::spawn(install_all);
    let (mut before, mut longest, mut wrong) = (client.server.memory(), Duration::ZERO, vec![]);
    let mut bombs: Vec<_> = BOMBS.iter().map(|bomb| (bomb, (bomb.bytes)(&base))).collect();
    bombs.sort_by_key(|(_, bytes)| std::cmp::Reverse(bytes.len()));
    for (number, (bomb, bytes)) in bombs.iter().enumerate() {
        let began = Instant::now();
        replace(&file, bytes);
        let line = eventually(PATIENCE, || said(&client.server).get(number).cloned());
        let line = line.unwrap_or_else(|| panic!("{}: nothing was said\n{}", bomb.what, client.server.log()));
        longest = longest.max(began.elapsed());
        if !(line.contains("the old version stays") && line.contains(bomb.words)) {
            wrong.push(format!("reload: {}: {line}", bomb.what));
        }
        assert_eq!(control(&mut client), first, "{}", bomb.what);
        // The buffers for the largest files are kept for later ones.
        if bytes.len() >= LARGE {
            before = before.max(client.server.memory());
        }
    }
    // The original version of the plugin still serves.
    client.call("bomb__run", json!({})).result();
    let (wrong_too, longest_too) = installing.join().unwrap();
    wrong.extend(wrong_too);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    longest = longest.max(longest_too);
    let id = client.server.id();
    assert!(eventually(PATIENCE, || (children(id) == 0).then_some(())).is_some(), "a worker is left behind");
    let more = || client.server.memory().saturating_sub(before);
    assert!(
        eventually(Duration::from_secs(10), || (more() <= LEFT).then_some(())).is_some(),
        "{} MiB more",
        more() >> 20
    );
    println!(
        "hostile: bombs: {0} of {0} refused or killed, by reload and by install, memory +{1} MiB, longest {2} s",
        BOMBS.len(),
        more().div_ceil(1 << 20),
        longest.as_secs()
    );
}
