//! Noninterference: what a private tool tells reaches nobody but the client, whatever a plugin does.
//!
//! Random programs over all imports run twice, with two private inputs that differ. Everybody else must receive the same
//! in both runs. A program may branch on all that it sees, and its calls may tell each other by what they leave behind.
//! Time is left out: how long something takes, and limits that all plugins and principals share. Files are tested with
//! guests, in `tests/suite/tests/abuse`.
//!
//! The same programs show that a call which is stopped and goes on in another instance comes to the same (`replay`).
//!
//! `PORTCULLIS_PROGRAMS` sets how many programs; `cargo xtask hostile` runs 100,000. `PORTCULLIS_REPLAYS`
//! sets how many calls are replayed.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(clippy::print_stdout, reason = "the figure is what this test is for")]

mod program;
mod replay;
mod run;
mod world;

use policy::Principal;
use program::{Program, program};
use run::Host;
use services::state::SqliteStateStore;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use world::{Received, World};

/// Programs without the variable.
const PROGRAMS: u64 = 2_000;
/// Programs that share a database.
const TOGETHER: u64 = 1_000;

/// The recipient that is told the private input, and may learn it.
const CLIENT: &str = "client";

/// What everybody received with each of the two inputs.
struct Pair([Received; 2]);

impl Pair {
    /// The recipients that can tell the inputs apart.
    fn told(&self) -> BTreeSet<&'static str> {
        let [one, other] = &self.0;
        one.keys().chain(other.keys()).copied().filter(|who| one.get(who) != other.get(who)).collect()
    }

    fn size(&self) -> usize {
        self.0.iter().flat_map(Received::values).map(Vec::len).sum()
    }
}

/// Runs these programs under grants. `each` gets the results of each program.
fn run_all(numbers: impl Iterator<Item = u64>, grants: &str, mut each: impl FnMut(u64, &Program, &Pair)) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let mut database: Option<(tempfile::TempDir, Host)> = None;
    for (at, number) in (0..).zip(numbers) {
        if at % TOGETHER == 0 {
            // In memory if the system offers it: no run needs what a disk keeps.
            let memory = Path::new("/dev/shm");
            let folder = tempfile::tempdir_in(memory).or_else(|_| tempfile::tempdir()).unwrap();
            let state = Arc::new(SqliteStateStore::open(folder.path()).unwrap());
            database = Some((folder, Host::new(state, grants)));
        }
        let (_, host) = database.as_ref().unwrap();
        let program = program(number);
        let pair = [false, true].map(|secret| {
            let world = World::new(secret);
            let principal = Principal::from_source("key", &format!("{number}-{secret}"));
            runtime.block_on(host.run(&program, &principal, &world));
            world.received()
        });
        each(number, &program, &Pair(pair));
    }
}

#[test]
fn no_program_tells_a_private_input() {
    let programs = std::env::var("PORTCULLIS_PROGRAMS").ok().and_then(|count| count.parse().ok()).unwrap_or(PROGRAMS);
    let half = |first: u64| {
        move || {
            let (mut received, mut wrong) = (0, Vec::new());
            run_all((first..programs).step_by(2), "", |number, program, pair| {
                received += pair.size();
                let told = pair.told();
                if told.iter().any(|who| *who != CLIENT) && wrong.len() < 3 {
                    wrong.push(format!("program {number} tells {told:?}: {program:#?}\n{:#?}", pair.0));
                }
            });
            (received, wrong)
        }
    };
    let halves = [0, 1].map(|first| std::thread::spawn(half(first)));
    let (mut received, mut wrong) = (0, Vec::new());
    for half in halves {
        let (more, others) = half.join().unwrap();
        received += more;
        wrong.extend(others);
    }
    println!("hostile: programs: {programs}, {received} messages to others");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(received as u64 > programs / 2, "the programs reach nobody");
}

/// If they are allowed to, the programs reveal the input to everybody, by every kind of outcome.
#[test]
fn a_granted_flow_is_found_by_the_same_programs() {
    let everybody = [
        ("component", "agent.other"),
        ("upstream", "upstream.upstream"),
        ("account", "connections.account"),
        ("page", "http.page.example"),
        ("http", "http.page.example"),
        ("model", "host-model"),
    ];
    let flows: Vec<_> = everybody.iter().map(|(_, to)| format!("\"agent.private -> {to}\"")).collect();
    let mut told = BTreeSet::new();
    run_all(0..800, &format!("flows = [{}]\n", flows.join(", ")), |_, _, pair| told.append(&mut pair.told()));
    for (who, _) in everybody {
        assert!(told.contains(who), "{who} was told nothing: {told:?}");
    }
}

/// The functions of the interface that the programs use, and why the others need no step.
const FUNCTIONS: [(&str, &str, &str); 27] = [
    ("agent-tools", "list-tools", "ListTools"),
    ("agent-tools", "call", "CallPrivate, CallUpstream, CallComponent, CallClient"),
    ("agent-tools", "call-many", "CallMany"),
    ("client", "supported", "Supported"),
    ("client", "elicit-form", "ElicitForm"),
    ("client", "elicit-url", "ElicitUrl, ElicitConnection"),
    ("client", "sample", "Sample"),
    ("client", "list-roots", "ListRoots"),
    ("client", "ask-many", "AskMany"),
    ("connections", "connected", "Connected"),
    ("connections", "send", "SendToConnection"),
    ("events", "emit", "Emit, EmitMany"),
    ("log", "write", "only the operator reads it"),
    ("meter", "fuel-left", "of the call itself"),
    ("meter", "deadline-left", "of the call itself"),
    ("output", "emit", "only the client receives it"),
    ("progress", "report", "only the client receives it"),
    ("publish", "put-resource", "PutResource, PutLargeResource"),
    ("publish", "append-resource", "AppendResource"),
    ("publish", "remove-resource", "RemoveResource"),
    ("publish", "put-prompt", "PutPrompt"),
    ("publish", "remove-prompt", "RemovePrompt"),
    ("state", "get", "StateGet"),
    ("state", "set", "StateSet"),
    ("state", "swap", "StateSwap"),
    ("state", "remove", "StateRemove"),
    ("state", "keys", "StateKeys"),
];

#[test]
fn the_programs_use_every_import() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../wit/v0.1");
    let world = std::fs::read_to_string(folder.join("world.wit")).unwrap();
    let imports = world.lines().filter_map(|line| line.trim().strip_prefix("import ")?.strip_suffix(';'));
    let mut functions = BTreeSet::new();
    for interface in imports {
        let text = std::fs::read_to_string(folder.join(format!("{interface}.wit"))).unwrap();
        let names = text.lines().filter_map(|line| line.trim().split_once(": func(").map(|(name, _)| name.to_owned()));
        functions.extend(names.map(|name| (interface.to_owned(), name)));
    }
    // Steering brings messages of the client and takes nothing. Replayed programs use it.
    functions.remove(&("steering".into(), "next".into()));
    functions.remove(&("steering".into(), "receive".into()));
    // A checkpoint is in the call's own journal, which only a later run of the same call reads.
    functions.retain(|(interface, _)| interface != "checkpoint");
    let listed = FUNCTIONS.iter().map(|(interface, name, _)| ((*interface).to_owned(), (*name).to_owned())).collect();
    assert_eq!(functions, listed);
}
