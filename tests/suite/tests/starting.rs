//! A server answers before its plugins are loaded, and serves what it can load.

use crate::reload::{edition, replace};
use serde_json::{Value, json};
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use suite::cli::portcullis_with;
use suite::http::request_at;
use suite::{Called, Client, Era, Home, PATIENCE, Server, eventually, paths, plugin, plugin_from, portcullis};

/// The processes that compile into a cache, of which no server is the parent.
fn detached(cache: &Path) -> Vec<String> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let ids = processes.filter_map(|process| process.file_name().into_string().ok());
    let compiles = |id: &String| {
        let command = std::fs::read_to_string(format!("/proc/{id}/cmdline")).unwrap_or_default();
        command.contains(&format!("\0{}\0--detached\0", cache.display()))
    };
    let all: Vec<_> = ids.filter(compiles).collect();
    let is_parent = |id: &String, of: &String| {
        let status = std::fs::read_to_string(format!("/proc/{of}/status")).unwrap_or_default();
        status.lines().any(|line| line.strip_prefix("PPid:").is_some_and(|parent| parent.trim() == id))
    };
    // What such a process starts has its command line for a moment.
    all.iter().filter(|of| !all.iter().any(|id| is_parent(id, of))).cloned().collect()
}

/// The processes that a server has started.
fn children(server: &Server) -> Vec<String> {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", server.id())).unwrap().flatten();
    let children = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    children.flat_map(|ids| ids.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// The entries of a kind in a cache.
fn entries(cache: &Path, kind: &str) -> usize {
    let all = std::fs::read_dir(cache).unwrap().flatten();
    all.filter(|entry| entry.path().extension().is_some_and(|end| end == kind)).count()
}

/// A compilation of a server, stopped before it is done.
struct StoppedCompilation(String);

impl StoppedCompilation {
    fn of(server: &Server, cache: &Path) -> Self {
        // The process has the whole component then.
        let locked = || (entries(cache, "lock") > 0).then_some(());
        eventually(PATIENCE, locked).unwrap_or_else(|| panic!("nothing is compiled\n{}", server.log()));
        let compilation = eventually(PATIENCE, || detached(cache).pop());
        let compilation = Self(compilation.unwrap_or_else(|| panic!("nothing is compiled\n{}", server.log())));
        compilation.signal("-STOP");
        compilation
    }

    fn signal(&self, signal: &str) {
        assert!(Command::new("kill").args([signal, &self.0]).status().unwrap().success(), "it has ended");
    }
}

/// It would stand still for ever, since it outlives its server.
impl Drop for StoppedCompilation {
    fn drop(&mut self) {
        let _ = Command::new("kill").args(["-CONT", &self.0]).stderr(Stdio::null()).status();
    }
}

/// A server over stdio with an empty cache, in which the compilation of `guest` has begun and stands still.
/// `provider` is compiled.
fn compiling(cache: &Path, guest: &str) -> (Server, StoppedCompilation) {
    let home = Home::new();
    let steady = plugin("provider", "");
    let filled = home.write("steady.toml", &steady);
    let mut command = Command::new(paths::binary());
    command.args(["plugin", "list", "--load", "--config"]).arg(filled).env("PORTCULLIS_CACHE", cache);
    suite::cli::run(command).good();
    let server = Server::spawn(home, &(steady + &plugin(guest, "")), &[], |command| {
        command.env("PORTCULLIS_CACHE", cache);
    });
    let compilation = StoppedCompilation::of(&server, cache);
    (server, compilation)
}

fn names(tools: &Value) -> Vec<&str> {
    tools["tools"].as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str()).collect()
}

#[test]
fn a_client_is_answered_while_a_plugin_is_compiled() {
    let cache = tempfile::tempdir().unwrap();
    let (server, compilation) = compiling(cache.path(), "echo");
    let mut client = Client::new(server, Era::Modern, false);
    let listed = client.request("tools/list", json!({}));
    assert!(names(listed.result()).iter().all(|name| name.starts_with("provider__")), "{:?}", listed.result());
    let found = client.request("server/discover", json!({}));
    let told = found.result()["instructions"].as_str().unwrap_or_default();
    assert!(told.contains(": echo, provider."), "{told}");
    // A call waits, and its client is told for what.
    let meta = json!({"progressToken": "p"});
    let call = client.begin("tools/call", json!({"name": "echo__run", "arguments": {}, "_meta": meta}));
    let progress = client.wait_for("notifications/progress");
    assert_eq!(progress["params"]["progressToken"], "p");
    assert!(progress["params"]["message"].as_str().is_some_and(|text| text.ends_with(": echo")), "{progress}");
    // Another one does not.
    assert_eq!(client.call("provider__run", json!({})).good(), "done");
    // A cancelled one neither.
    let given_up = client.begin("tools/call", json!({"name": "echo__run", "arguments": {}}));
    client.cancel(given_up);
    assert!(!client.is_answered(call));
    compilation.signal("-CONT");
    let sent = std::time::Instant::now();
    Called(client.wait(call, sent)).good();
    assert_eq!(client.tools().len(), names(listed.result()).len() + 1);
    client.server.wait_until_loaded();
    let found = client.request("server/discover", json!({}));
    assert_eq!(found.result()["instructions"], told);
}

/// Over HTTP, the transport cannot compare the headers of such a call with arguments that it does not know yet.
#[test]
fn a_call_with_arguments_in_headers_is_sent_again_over_http_only() {
    let cache = tempfile::tempdir().unwrap();
    let (server, compilation) = compiling(cache.path(), "header-param");
    let mut client = Client::new(server, Era::Modern, false);
    let call = client.begin("tools/call", json!({"name": "header-param__run", "arguments": {"region": "here"}}));
    compilation.signal("-CONT");
    assert_eq!(Called(client.wait(call, std::time::Instant::now())).good(), "arrived");

    let cache = tempfile::tempdir().unwrap();
    let arguments = ["--http", "127.0.0.1:0"];
    let server = Server::spawn(Home::new(), &plugin("header-param", ""), &arguments, |command| {
        command.env("PORTCULLIS_CACHE", cache.path());
    });
    let (address, compilation) = (server.address(), StoppedCompilation::of(&server, cache.path()));
    let send = move || {
        let arguments = json!({"name": "header-param__run", "arguments": {"region": "here"}});
        suite::http::modern(address, 1, "tools/call", arguments, false).message().unwrap()
    };
    let early = std::thread::spawn(send);
    let waits = || request_at(address, "GET", "/ready", &[], "").status == 503;
    assert!(waits() && !early.is_finished());
    compilation.signal("-CONT");
    let refused = early.join().unwrap();
    assert!(refused["error"].is_object(), "{refused}");
    let refused = send();
    assert_eq!(refused["error"]["code"], -32020, "now the header is missed: {refused}");
}

#[test]
fn clients_hear_of_plugins_that_come_later() {
    let cache = tempfile::tempdir().unwrap();
    let (server, compilation) = compiling(cache.path(), "echo");
    let mut client = Client::new(server, Era::Legacy, false);
    compilation.signal("-CONT");
    // The first one may be about the other plugin.
    loop {
        client.wait_for("notifications/tools/list_changed");
        if client.tools().iter().any(|tool| tool["name"] == "echo__run") {
            break;
        }
    }
}

/// Some clients end a server that is not ready soon, and start it again and again. opencode ends all that descends from it.
#[test]
fn a_compilation_outlives_the_server_that_began_it() {
    let cache = tempfile::tempdir().unwrap();
    let (mut server, compilation) = compiling(cache.path(), "echo");
    eventually(PATIENCE, || children(&server).is_empty().then_some(()))
        .expect("what compiles descends from the server");
    server.kill();
    compilation.signal("-CONT");
    let codes = || (entries(cache.path(), "bin") == 2).then_some(());
    eventually(PATIENCE, codes).expect("the compilation ended with its server");
    let ended = || (!Path::new(&format!("/proc/{}", compilation.0)).exists()).then_some(());
    eventually(PATIENCE, ended).expect("the compilation is left behind");
    assert_eq!(entries(cache.path(), "lock"), 0);
}

#[test]
fn a_second_server_waits_for_the_compilation_of_the_first() {
    let cache = tempfile::tempdir().unwrap();
    let (mut first, compilation) = compiling(cache.path(), "echo");
    first.kill();
    let second = Server::spawn(Home::new(), &plugin("echo", ""), &[], |command| {
        command.env("PORTCULLIS_CACHE", cache.path());
    });
    second.wait_for_log("compiling");
    let mut client = Client::new(second, Era::Modern, false);
    let call = client.begin("tools/call", json!({"name": "echo__run", "arguments": {}}));
    assert!(!client.is_answered(call));
    assert_eq!(detached(cache.path()), std::slice::from_ref(&compilation.0), "it compiles nothing itself");
    compilation.signal("-CONT");
    Called(client.wait(call, std::time::Instant::now())).good();
}

#[test]
fn the_end_of_a_client_ends_a_server_that_compiles() {
    let cache = tempfile::tempdir().unwrap();
    let (mut server, _compilation) = compiling(cache.path(), "echo");
    let asked = std::time::Instant::now();
    assert!(server.end().success());
    assert!(asked.elapsed() < PATIENCE / 4, "{:?}", asked.elapsed());
}

#[test]
fn a_plugin_that_cannot_be_loaded_does_not_take_the_others_along() {
    let config = plugin("echo", "") + &plugin_from("gone", Path::new("/nowhere/gone.wasm"), "");
    let home = Home::new();
    let file = home.write("portcullis.toml", &config).display().to_string();
    let strict = portcullis(&home, &["serve", "--strict", "--config", &file]);
    assert!(
        strict.refused().contains("[plugins.gone]") && strict.stderr.contains("/nowhere/gone.wasm"),
        "{}",
        strict.stderr
    );
    let called = portcullis(&home, &["call", "echo", "run", "--config", &file]);
    called.good();
    assert!(!called.stderr.contains("gone"), "{}", called.stderr);
    let refused = portcullis(&home, &["call", "gone", "run", "--config", &file]);
    assert!(refused.refused().contains("/nowhere/gone.wasm"), "{}", refused.stderr);

    let (server, address) = Server::start_http_in(home, &config);
    for words in ["it is not loaded", "served without plugins.gone"] {
        server.wait_for_log(words);
    }
    let ready = request_at(address, "GET", "/ready", &[], "").message().unwrap();
    assert_eq!(ready["status"], "ready");
    assert!(ready["missing"]["plugins.gone"].as_str().is_some_and(|why| why.contains("gone.wasm")), "{ready}");
    drop(server);

    let mut client = Client::of(&config);
    let found = client.request("server/discover", json!({}));
    let told = found.result()["instructions"].as_str().unwrap_or_default();
    assert!(told.contains("cannot be loaded: gone.") && !told.contains("/nowhere"), "{told}");
    client.run("echo", json!({})).good();
    let unknown = client.request("tools/call", json!({"name": "gone__run", "arguments": {}}));
    assert_eq!(unknown.error_code(), -32602);
}

#[test]
fn a_plugin_is_loaded_once_its_file_is_there() {
    let home = Home::new();
    let later = home.path().join("later.wasm");
    let config = plugin("echo", "") + &plugin_from("later", &later, "");
    let server = Server::start_in(home, &config);
    let mut client = Client::new(server, Era::Modern, false);
    assert_eq!(client.tools().len(), 1);
    std::fs::copy(paths::guest("provider"), &later).unwrap();
    client.server.wait_for_log("reloaded");
    assert_eq!(client.tools().len(), 2);
}

/// A version that serves is there, whatever becomes of the next one.
#[test]
fn a_version_that_serves_is_not_missing_while_the_next_one_is_compiled() {
    let cache = tempfile::tempdir().unwrap();
    let home = Home::new();
    let component = home.path().join("one.wasm");
    std::fs::copy(paths::guest("provider"), &component).unwrap();
    let server = Server::spawn(home, &plugin_from("one", &component, ""), &["--http", "127.0.0.1:0"], |command| {
        command.env("PORTCULLIS_CACHE", cache.path());
    });
    let address = server.address();
    server.wait_until_loaded();
    let newer = component.with_extension("new");
    std::fs::copy(paths::guest("echo"), &newer).unwrap();
    std::fs::rename(&newer, &component).unwrap();
    let compilation = StoppedCompilation::of(&server, cache.path());
    let ready = request_at(address, "GET", "/ready", &[], "").message().unwrap();
    assert_eq!(ready, json!({"status": "ready"}));
    assert_eq!(suite::http::call(address, "one__run", json!({}), false).good(), "done");
    let mut unknown = suite::http::modern(address, 1, "tools/call", json!({"name": "x", "arguments": {}}), false);
    assert_eq!(unknown.message().unwrap()["error"]["code"], -32602, "nobody waits for it");
    compilation.signal("-CONT");
    server.wait_for_log("reloaded");
    let echoed = suite::http::call(address, "one__run", json!({"n": 7}), false);
    assert!(echoed.good().contains('7'));
}

/// Each new version clashes with what the other plugin serves, until both are there.
#[test]
fn two_plugins_swap_what_they_offer_however_long_one_is_compiled() {
    let cache = tempfile::tempdir().unwrap();
    let home = Home::new();
    let (one, other) = (home.write("one.wasm", edition("AAAA")), home.path().join("other.wasm"));
    std::fs::copy(paths::guest("provider"), &other).unwrap();
    let config = plugin_from("one", &one, "") + &plugin_from("other", &other, "");
    let server = Server::spawn(home, &config, &["--http", "127.0.0.1:0"], |command| {
        command.env("PORTCULLIS_CACHE", cache.path());
    });
    let address = server.address();
    server.wait_until_loaded();
    replace(&other, &edition("CCCC"));
    let compilation = StoppedCompilation::of(&server, cache.path());
    replace(&one, &std::fs::read(paths::guest("provider")).unwrap());
    server.wait_for_log("the old version stays");
    assert_eq!(suite::http::call(address, "one__run", json!({}), false).good(), "edition=A");
    compilation.signal("-CONT");
    server.wait_for_log("other.wasm changed");
    assert_eq!(suite::http::call(address, "one__run", json!({}), false).good(), "done");
    assert_eq!(suite::http::call(address, "other__run", json!({}), false).good(), "edition=C");
    assert_eq!(server.log().matches("the old version stays").count(), 1, "{}", server.log());
}

/// Of two plugins that both offer a name, the first of the configuration has it, whichever is ready first.
#[test]
fn the_first_of_the_configuration_has_a_name() {
    let cache = tempfile::tempdir().unwrap();
    let home = Home::new();
    let other = plugin_from("other", &paths::guest("provider"), "prefix = false");
    let both = plugin("echo", "prefix = false") + &other;
    let warm = home.write("warm.toml", other);
    let mut command = Command::new(paths::binary());
    command.args(["plugin", "list", "--load", "--config"]).arg(warm).env("PORTCULLIS_CACHE", cache.path());
    suite::cli::run(command).good();
    let server = Server::spawn(home, &both, &[], |command| {
        command.env("PORTCULLIS_CACHE", cache.path());
    });
    let line = server.wait_for_log("it is not loaded");
    assert!(line.contains("plugins.other") && line.contains("`run`"), "{line}");
    server.wait_until_loaded();
    let mut client = Client::new(server, Era::Modern, false);
    assert!(client.call("run", json!({"n": 7})).good().contains("7"));
}

/// Most agents show nothing else of a server that does not start, and start it from a folder of their own.
#[test]
fn a_client_is_told_why_its_server_does_not_start() {
    let home = Home::new();
    home.write("broken.toml", "[plugins.echo]\nsource = 7\n");
    let here = home.path().canonicalize().unwrap();
    let missing = here.join("none.toml").display().to_string();
    let (broken, nowhere) = ("broken.toml: ".to_owned(), "cannot open nowhere".to_owned());
    for (arguments, variable, expected) in [
        (&["serve", "--config", "~/none.toml"][..], None, &missing),
        (&["serve", "--config", "none.toml"], None, &missing),
        (&["serve"], Some("~/none.toml"), &missing),
        (&["serve", "--config", "broken.toml"], Some("~/none.toml"), &broken),
        (&["dev", "nowhere"], None, &nowhere),
    ] {
        let mut command = Command::new(paths::binary());
        command.args(arguments).current_dir(&here).env("HOME", &here);
        variable.map(|file| command.env("PORTCULLIS_CONFIG", file));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        let hello = r#"{"jsonrpc":"2.0","id":"a","method":"initialize","params":{}}"#;
        writeln!(input, "{hello}").unwrap();
        let ended = child.wait_with_output().unwrap();
        assert!(!ended.status.success());
        let answer: Value = serde_json::from_slice(&ended.stdout).unwrap();
        let (said, shown) = (answer["error"]["message"].as_str().unwrap(), String::from_utf8_lossy(&ended.stderr));
        assert!(answer["id"] == "a" && said.contains(expected), "{answer}");
        assert!(shown.contains(expected), "{shown}");
    }
    // Whoever uses the variable need not name the file, and a file that is named comes first.
    home.write("named.toml", plugin("echo", ""));
    let listed = portcullis_with(&home, ("PORTCULLIS_CONFIG", "named.toml"), &["plugin", "list"]);
    assert!(listed.good().contains("echo"), "{listed:?}");
}
