//! Calls every function of every interface from a component without grants. `imports.txt` lists the expected outcomes,
//! one line each; the test fails for a function that the host offers and that has no line there.

use serde_json::json;
use std::collections::BTreeMap;
use std::net::TcpListener;
use suite::home::fingerprint;
use suite::importer::Universe;
use suite::{Client, Home, plugin_from, portcullis};

/// What any import costs that does something.
const PRICE: u64 = 450;
/// Imports without a price, by parts of their names: they do less than a microsecond of work, or make a handle, of which there is a
/// limit. Of `wasi:http/types` those that copy headers have one.
const CHEAP: [&str; 15] = [
    "[drop]",
    "subscribe",
    "check-write",
    "flush",
    "resolution",
    "wasi:sockets/",
    "cli/std",
    "cli/terminal-",
    "initial-cwd",
    "wasi:http/types [constructor]",
    "wasi:http/types [method]outgoing-",
    "wasi:http/types [static]outgoing-",
    "[method]request-options",
    "meter fuel-left",
    "meter deadline-left",
];

const TABLE: &str = include_str!("imports.txt");

/// Whether an outcome neither reveals nor changes anything of this machine. Any other outcome needs a reason in the
/// table why it is harmless.
fn is_nothing(outcome: &str) -> bool {
    ["absent", "empty", "none", "error", "trap"].iter().any(|nothing| outcome.starts_with(nothing))
}

#[test]
fn every_import_is_denied_or_inert() {
    let expected: BTreeMap<&str, (&str, Option<&str>)> = TABLE
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .map(|line| {
            let (name, rest) = line.split_once(": ").unwrap_or_else(|| panic!("no outcome: {line}"));
            let (outcome, why) = rest.split_once("; ").map_or((rest, None), |(outcome, why)| (outcome, Some(why)));
            assert!(is_nothing(outcome) || why.is_some(), "why does it do no harm? {line}");
            (name, (outcome, why))
        })
        .collect();
    let sink = TcpListener::bind("127.0.0.1:0").unwrap();
    sink.set_nonblocking(true).unwrap();
    let universe = Universe::new(sink.local_addr().unwrap().port());
    let (home, imports) = (Home::new(), universe.imports());
    let files: Vec<String> = (0..imports.len())
        .map(|at| {
            let component = universe.component(&imports[at], &format!("<{at}>"));
            home.write(&format!("{at}.wasm"), component).display().to_string()
        })
        .collect();
    let arguments: Vec<&str> = ["check"].into_iter().chain(files.iter().map(String::as_str)).collect();
    let checked = portcullis(&home, &arguments);
    assert!(!checked.stderr.contains("panicked"), "{}", checked.stderr);
    let offered = |at: &usize| checked.stdout.contains(&format!("/{at}.wasm is a plugin"));
    let table = |at: &usize| plugin_from(&format!("p{at}"), files[*at].as_ref(), "limits.deadline = \"5s\"");
    let config: String = (0..imports.len()).filter(offered).map(|at| table(&at)).collect();
    let before = fingerprint(&home.work()) + &fingerprint(&home.outside());
    let mut client = Client::of_server(suite::Server::start_in(home, &config));
    let (mut wrong, mut costs) = (Vec::new(), Vec::new());
    for (at, import) in imports.iter().enumerate() {
        let outcome = match offered(&at) {
            false => {
                let missing = format!("/{at}.wasm] it needs an import that this host does not offer");
                assert!(checked.stderr.contains(&missing), "{}: {}", import.name, checked.stderr);
                "absent".to_owned()
            }
            true => {
                let called = client.call(&format!("p{at}__run"), json!({}));
                match called.is_error() {
                    true if called.code() == "deadline-exceeded" => "waits until the deadline".to_owned(),
                    true => format!("trap, {}", called.text().trim_start_matches("the tool crashed: ")),
                    false => {
                        costs.push((import.name.clone(), called.usage()["fuel"].as_u64().unwrap()));
                        let mark = format!("<{at}>");
                        let line = client.server.wait_for_log(&mark);
                        let back = line.split(&mark).nth(1).unwrap_or_default();
                        universe.outcome(import, &back[..64])
                    }
                }
            }
        };
        if expected.get(import.name.as_str()).map(|(expected, _)| *expected) != Some(outcome.as_str()) {
            wrong.push(format!("{}: {outcome}", import.name));
        }
    }
    assert!(wrong.is_empty(), "not as in tests/suite/tests/imports.txt, or not in it:\n{}", wrong.join("\n"));
    let free = costs.iter().map(|(_, fuel)| *fuel).min().unwrap();
    let is_priced = |fuel: &u64| *fuel >= free + PRICE;
    let (priced, cheap): (Vec<_>, Vec<_>) = costs.iter().partition(|(_, fuel)| is_priced(fuel));
    let unpriced: Vec<_> = cheap.iter().filter(|(name, _)| !CHEAP.iter().any(|part| name.contains(part))).collect();
    assert!(
        unpriced.is_empty(),
        "these have no price in fuel, and may cost the host more than the guest: {unpriced:#?}"
    );
    println!("{} imports have a price in fuel, {} do next to nothing", priced.len(), cheap.len());
    let gone: Vec<_> = expected.keys().filter(|name| !imports.iter().any(|import| import.name == **name)).collect();
    assert!(gone.is_empty(), "no interface has these any more: {gone:?}");
    let home = &client.server.home;
    assert_eq!(before, fingerprint(&home.work()) + &fingerprint(&home.outside()), "something was changed");
    assert!(sink.accept().is_err(), "somebody connected");
    // The host's own files are there: its audit log, its place among processes, the key of parked calls, and empty databases.
    let state = std::fs::read_dir(home.path().join("state")).into_iter().flatten().flatten();
    let kept: Vec<_> = state.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    let is_own = |name: &String| {
        ["audit", "parked.key", "process-1.lock"].contains(&&**name)
            || name.starts_with("values.db")
            || name.starts_with("durable.db")
    };
    assert!(kept.iter().all(is_own), "something was kept: {kept:?}");
    let said = suite::portcullis(home, &["storage", "check"]).good().to_owned();
    let mut counts = said.lines().filter_map(|line| line.strip_prefix("  ")?.split_once(": "));
    assert!(counts.all(|(_, count)| count == "0"), "something was kept:\n{said}");
    println!("hostile: import audit: {0} of {0} imports denied or inert without a grant, 0 effects", imports.len());
}
