//! All known attacks in one table: components and requests for every threat of the threat model (W: a guest against the
//! host, M: an MCP client or server against anybody), each with its exact outcome.
//!
//! The whole table attacks one server. Then a tenth of it does so once more; in a whole run, all of it. Control calls of a good tool must not be delayed meanwhile.
//! At the end nothing is left over, and no secret was leaked. `PORTCULLIS_ROWS=M1,W9.3` selects rows.
//! To show the table: `cargo test -p suite --test suite -- hostile::table --nocapture`.

mod answers;
mod calls;
mod components;
pub(crate) mod files;
mod fixture;
mod guests;
mod headers;
mod matrix;
mod messages;
mod names;
mod other_principals;
mod paths;
mod pictures;

use fixture::{Control, Fixture, Who};
use serde_json::json;
use std::path::Path;
use std::time::{Duration, Instant};
use suite::soak;

/// One attack.
struct Row {
    /// The threat, a dot and a number.
    id: &'static str,
    what: &'static str,
    /// The exact outcome; for a refusal, words that its sentence contains.
    outcome: &'static str,
    run: fn(&Fixture) -> String,
}

/// The time limit of one row on a busy machine; only a deadlock takes longer.
const BOUND: Duration = Duration::from_secs(60);
/// The time limit of 99 % of the control calls.
const CONTROL: Duration = Duration::from_millis(250);
/// How much the host's memory may grow between the first and the second run of the table.
const GROWTH: u64 = 8 << 20;

/// The groups of rows, and whether they run a second time: separate processes check components.
const GROUPS: [(&str, &[Row], bool); 9] = [
    ("components that are never loaded", components::ROWS, false),
    ("names that clients take for one another", names::ROWS, false),
    ("pictures", pictures::ROWS, false),
    ("guests that take too much", guests::ROWS, true),
    ("guests that reach further", calls::ROWS, true),
    ("guests that answer what they must not", answers::ROWS, true),
    ("headers and credentials", headers::ROWS, true),
    ("messages", messages::ROWS, true),
    ("what belongs to other principals", other_principals::ROWS, true),
];

fn is_right(expected: &str, seen: &str) -> bool {
    match (expected.strip_prefix("refused: "), seen.strip_prefix("refused: ")) {
        (Some(words), Some(said)) => !words.is_empty() && said.contains(words),
        _ => expected == seen,
    }
}

/// Runs and prints the rows; returns those with a wrong outcome.
#[allow(clippy::print_stdout, reason = "the table is for whoever wants to see it")]
fn run(fixture: &Fixture, rows: &[&Row]) -> Vec<String> {
    let mut wrong = vec![];
    for Row { id, what, outcome, run } in rows {
        let began = Instant::now();
        // A panic in one row must not hide the others.
        let seen = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(fixture)));
        let seen = seen.unwrap_or_else(|_| "panicked".to_owned());
        let took = began.elapsed();
        let right = is_right(outcome, &seen) && took < BOUND;
        let mark = if right { "ok" } else { "WRONG" };
        let shown: String = if right { *outcome } else { seen.as_str() }.chars().take(60).collect();
        println!("{id:<6} {what:<66} {shown:<44} {:>6} ms  {mark}", took.as_millis());
        if !right {
            wrong.push(format!("{id}: {what}: {seen:?} instead of {outcome:?}, after {took:?}"));
        }
    }
    wrong
}

/// Whether a row is selected: `PORTCULLIS_ROWS` names rows by id or threat; without it, all are.
fn wanted(row: &Row) -> bool {
    match std::env::var("PORTCULLIS_ROWS") {
        Err(_) => true,
        Ok(names) => names.split(',').any(|name| row.id == name || threat(row.id) == name),
    }
}

fn threat(id: &str) -> &str {
    id.split('.').next().unwrap_or(id)
}

#[test]
#[allow(clippy::print_stdout, reason = "the table is for whoever wants to see it")]
fn table() {
    let fixture = Fixture::new();
    let control = Control::start(&fixture);
    let (mut number, mut wrong) = (0, vec![]);
    for (group, rows, _) in GROUPS {
        let rows: Vec<_> = rows.iter().filter(|row| wanted(row)).collect();
        number += rows.len();
        println!("\n{group}");
        wrong.extend(run(&fixture, &rows));
    }
    assert!(wrong.is_empty(), "{}\n{}", wrong.join("\n"), fixture.server().log());
    fixture.until_idle();
    let warm = fixture.settled(0);
    let again: Vec<_> = GROUPS.iter().filter(|(.., again)| *again).flat_map(|(_, rows, _)| *rows).collect();
    let again: Vec<_> = again.into_iter().filter(|row| wanted(row)).collect();
    // In every run a few of them show that nothing is left over; in a whole run, all.
    let again: Vec<_> = again.into_iter().step_by(if soak::is_whole() { 1 } else { 10 }).collect();
    println!("\nonce more on the same server");
    let wrong = run(&fixture, &again);
    assert!(wrong.is_empty(), "the second time: {}", wrong.join("\n"));
    let (calls, slowest) = control.stop();
    fixture.until_idle();
    let grown = fixture.settled(warm + GROWTH).saturating_sub(warm);
    check_nothing_is_left(&fixture);
    println!(
        "hostile: rows: {number} of {number} as expected, and {} of them once more on the same server",
        again.len()
    );
    println!(
        "hostile: control: {} ms at most for 99 of 100 of {calls} calls of a good tool meanwhile",
        slowest.as_millis()
    );
    println!("hostile: memory: {} KiB more after the second time than after the first", grown >> 10);
    assert!(slowest <= CONTROL, "control calls took {slowest:?}");
    assert!(grown <= GROWTH, "{} MiB more than after the first time", grown >> 20);
    let secrets = check_no_secret_leaked(fixture);
    println!("hostile: secrets: {secrets}");
}

/// Checks that 64 concurrent calls succeed, no child process is left, and the log has no forged text or panic.
fn check_nothing_is_left(fixture: &Fixture) {
    std::thread::scope(|scope| {
        let calls: Vec<_> = (0..64).map(|_| scope.spawn(|| fixture.run("echo", json!({"n": 1})))).collect();
        for call in calls {
            assert!(call.join().unwrap().starts_with("ok: "));
        }
    });
    let mut server = fixture.server();
    assert!(server.is_alive());
    let children = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", server.id())).unwrap_or_default();
    assert!(children.trim().is_empty(), "processes are left: {children}");
    let log = server.log();
    for bad in ["\u{1b}", "\u{202e}", "panicked at host/", "thread 'tokio", "thread 'main"] {
        assert!(!log.contains(bad), "{bad:?} is in the log:\n{log}");
    }
}

/// Ends the server and searches its answers, logs and files for the canaries.
fn check_no_secret_leaked(fixture: Fixture) -> String {
    let (log, seen) = (fixture.server().log(), fixture.seen());
    let canaries = &fixture.canaries;
    let mut found = canaries.in_bytes("the log", log.as_bytes());
    found.extend(canaries.in_bytes("what clients got", seen.as_bytes()));
    let mut server = fixture.server();
    let home = server.home.path().to_owned();
    // The server writes pending data when it ends.
    server.terminate();
    server.ended();
    drop(server);
    // The key file holds only digests, so it is searched like all files.
    let (files, inside) = canaries.in_folder(&home, &|_: &Path| false);
    found.extend(inside);
    let is_older =
        |path: &Path| std::fs::metadata(path).and_then(|file| file.modified()).is_ok_and(|at| at < fixture.began);
    let (cached, inside) = canaries.in_folder(&suite::paths::cache(), &is_older);
    found.extend(inside);
    assert!(found.is_empty(), "{}", found.join("\n"));
    format!(
        "0 of {} found in {} KiB of output and {} files",
        canaries.number(),
        (log.len() + seen.len()) >> 10,
        files + cached
    )
}

/// Both principals.
const BOTH: [Who; 2] = [Who::Alice, Who::Bob];
