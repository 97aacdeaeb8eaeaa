//! One run of a library's driver with a server. The driver reads a job and prints a line of JSON for each event.

use super::library::Library;
use crate::journey::{Access, Cache, Outcome, Running, Served, Step, Transport, config, printed, steps};
use crate::{Client, Server, paths, plugin_from};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::path::Path;
use std::sync::OnceLock;

/// Plugins that are listed and not called: with them, the list has every kind of schema that the guest SDKs make.
const LISTED: [&str; 13] = [
    "book",
    "calendar",
    "churn",
    "expense",
    "fetch",
    "hello",
    "hello-javascript",
    "hello-python",
    "notes",
    "planner",
    "pulls",
    "research",
    "survey",
];

impl Library {
    /// Its version, as its driver says before it reads the job; empty if it does not start.
    pub(super) fn version(self) -> String {
        let home = tempfile::tempdir().expect("a folder for temporary files");
        let mut driver = drive(self, home.path(), &json!({"command": ["false"], "calls": []}));
        let _ = driver.ended();
        event(&events(&driver.output()), "version").and_then(Value::as_str).unwrap_or_default().to_owned()
    }
}

/// The steps up to the large result, in one session; one outcome for each.
pub fn calls(library: Library, transport: Transport) -> Vec<Outcome> {
    assert!(!served_tools().is_empty(), "the server has tools");
    let served = Served::new(transport, &all(), Cache::Shared);
    let mut job = match &served.access {
        Access::Stdio(words) => json!({"command": words}),
        Access::Http(url) => json!({"url": url}),
    };
    job["calls"] = steps().iter().map(|step| json!([step.tool, step.arguments])).collect();
    let folder = served.folder();
    let mut driver = drive(library, &folder, &job);
    let ended = driver.ended();
    if let (None, Some(why)) = (ended, library.why_it_hangs()) {
        return vec![Outcome::Unable(why); steps().len() + 1];
    }
    let events = events(&driver.output());
    let reads: Vec<_> = events.iter().filter_map(|event| event["read"].as_str()).collect();
    let tools = match event(&events, "tools") {
        _ if ended.is_none() => Outcome::Wrong(format!("the library does not end: {}", printed(&folder))),
        None => Outcome::Wrong(format!("no tools are listed: {}", printed(&folder))),
        Some(tools) => complete(tools),
    };
    let outcome = |(at, step): (usize, Step)| {
        let read = reads.get(at).map(|read| step.judge(read));
        let booked = step.tool.starts_with("travel") && served.home().work().join("bookings.jsonl").exists();
        match read {
            _ if booked => Outcome::Wrong("something is booked, and nobody was asked".into()),
            Some(outcome) => outcome,
            None => Outcome::Wrong(format!("nothing is read: {}", printed(&folder))),
        }
    };
    [tools].into_iter().chain(steps().into_iter().enumerate().map(outcome)).collect()
}

/// The configuration of a server with the journey's tools and more.
fn all() -> String {
    let listed = LISTED.map(|name| plugin_from(name, &paths::real_plugin(name), ""));
    config() + &listed.concat()
}

/// Starts the driver with a job.
fn drive(library: Library, folder: &Path, job: &Value) -> Running {
    let mut command = library.command(folder).expect("the library is installed");
    let file = folder.join("job.json");
    fs::write(&file, job.to_string()).expect("a job");
    command.stdin(File::open(file).expect("the job"));
    Running::start(command, folder.to_path_buf())
}

fn events(output: &str) -> Vec<Value> {
    output.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

fn event<'a>(events: &'a [Value], name: &str) -> Option<&'a Value> {
    events.iter().find_map(|event| event.get(name))
}

/// Whether these are all tools of the server: one that a library cannot read may be lost, or lose the others.
fn complete(listed: &Value) -> Outcome {
    let listed: Vec<_> = listed.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let has = |name: &str| listed.contains(&name);
    let plain = |name: &&str| has(&name.replace('-', "_"));
    let all = served_tools().iter().map(String::as_str);
    let lost: Vec<_> = all.filter(|name| !has(name)).collect();
    match lost.iter().find(|name| !plain(name)) {
        Some(_) => Outcome::Wrong(format!("not listed: {}", lost.join(", "))),
        None if lost.is_empty() => Outcome::Good,
        None => Outcome::Clients("writes `_` for `-` in names"),
    }
}

/// The tools of the server. Whoever asks first has all plugins compiled, so that the libraries find them.
fn served_tools() -> &'static [String] {
    static TOOLS: OnceLock<Vec<String>> = OnceLock::new();
    TOOLS.get_or_init(|| {
        let server = Server::start(&all());
        server.wait_until_loaded();
        let tools = Client::of_server(server).tools();
        tools.iter().filter_map(|tool| Some(tool["name"].as_str()?.to_owned())).collect()
    })
}
