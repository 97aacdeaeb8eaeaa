//! `portcullis dev`: a plugin is served while its author writes it. What a build needs is there already, and no network is used.

use serde_json::json;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use suite::{Client, Era, Home, PATIENCE, Server, eventually, portcullis};

const LIST_CHANGED: &str = "notifications/tools/list_changed";

/// Makes the plugin `hello` in this language; the folder's name is the same.
fn begin(language: &str) -> (Home, PathBuf) {
    let home = Home::new();
    portcullis(&home, &["new", "hello", "--lang", language]).good();
    let folder = home.path().join("hello");
    (home, folder)
}

/// Starts it, and waits until it offers the tool. On a slow machine the first build goes on while it serves nothing yet.
fn start(home: Home) -> Client {
    let mut client = start_unbuilt(home);
    let offers = eventually(PATIENCE, || (client.tools().len() == 1).then_some(()));
    assert!(offers.is_some(), "{}", client.server.log());
    client
}

fn start_unbuilt(home: Home) -> Client {
    Client::new(Server::dev(home, &["hello"]), Era::Legacy, false)
}

/// Changes a text of a file, as an editor that replaces the file.
fn edit(file: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(file).unwrap();
    assert!(text.contains(from), "{from}: {text}");
    let other = file.with_file_name(".new");
    fs::write(&other, text.replace(from, to)).unwrap();
    fs::rename(other, file).unwrap();
}

fn greet(client: &mut Client) -> String {
    client.call("hello__greet", json!({"name": "Ada"})).good().to_owned()
}

/// Waits until a version is served that greets like this. A first build that took long may have been one change already.
fn until_greeted(client: &mut Client, greeting: &str) {
    let greeted = eventually(PATIENCE, || (greet(client) == greeting).then_some(()));
    assert!(greeted.is_some(), "no {greeting:?}:\n{}", client.server.log());
}

/// Waits until the client was told of other tools, which are these.
fn until_listed(client: &mut Client, description: &str) {
    while client.tools().first().is_none_or(|tool| tool["description"] != description) {
        client.wait_for(LIST_CHANGED);
    }
}

fn until_logged(server: &Server, part: &str, times: usize) {
    let logged = eventually(PATIENCE, || (server.log().matches(part).count() >= times).then_some(()));
    assert!(logged.is_some(), "not {times} times {part:?}:\n{}", server.log());
}

#[test]
fn a_changed_source_is_built_and_served_and_clients_are_told() {
    let (home, folder) = begin("c");
    let mut client = start(home);
    assert_eq!(greet(&mut client), "Hello, Ada!");
    let first = client.server.wait_for_log("built hello.wasm in");
    assert!(first.ends_with("s: there was none"), "{first}");

    let source = folder.join("plugin.c");
    let text = fs::read_to_string(&source).unwrap();
    let changed = text.replace("Greets somebody by name.", "Greets anybody.").replace("Whom to", "Who is to");
    fs::write(&source, changed.replace("Hello, ", "Welcome, ")).unwrap();
    until_listed(&mut client, "Greets anybody.");
    assert!(client.tools()[0]["inputSchema"].to_string().contains("Who is to"));
    assert_eq!(greet(&mut client), "Welcome, Ada!");
    client.server.wait_for_log("s: plugin.c changed");

    // What the author has not written is no source, and neither is what does not change a byte.
    for (name, text) in [("target/x.c", "int x;"), (".hidden/x.c", "int x;"), ("plugin.c~", "x"), ("plugin.c", "")] {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let text = if text.is_empty() { fs::read_to_string(&path).unwrap() } else { text.to_owned() };
        fs::write(&path, text).unwrap();
    }
    // A file in a new folder is one: the next build after that of plugin.c is for it.
    fs::create_dir(folder.join("notes")).unwrap();
    fs::write(folder.join("notes/ideas.txt"), "Greet in Latin.").unwrap();
    client.server.wait_for_log("s: notes/ideas.txt changed");
    assert_eq!(client.server.log().matches("built hello.wasm").count(), 3, "{}", client.server.log());
    assert!(client.server.end().success());
}

#[test]
fn a_broken_source_keeps_what_is_served_until_it_is_mended() {
    let (home, folder) = begin("c");
    let source = folder.join("plugin.c");
    edit(&source, "return NULL;", "return NULL");
    // Nothing could be built yet, and that is served: no tool.
    let mut client = start_unbuilt(home);
    assert!(client.tools().is_empty());
    client.server.wait_for_log("error: expected ';' after return statement");
    client.server.wait_for_log("there was none; nothing is served until a build succeeds");
    edit(&source, "return NULL", "return NULL;");
    until_listed(&mut client, "Greets somebody by name.");
    assert_eq!(greet(&mut client), "Hello, Ada!");

    edit(&source, "pc_format(", "pc_formt(");
    client.server.wait_for_log("plugin.c changed; the last good hello.wasm is still served");
    let log = client.server.log();
    let said = log.contains("call to undeclared function 'pc_formt'") && log.contains("\n2 errors generated.");
    assert!(said, "the compiler's errors are there in full: {log}");
    assert_eq!(greet(&mut client), "Hello, Ada!");
    fs::write(&source, fs::read_to_string(&source).unwrap().replace("formt", "format").replace("Hello", "Ave"))
        .unwrap();
    until_greeted(&mut client, "Ave, Ada!");
}

/// What is run as `node`: while a module with the line of a gate is loaded for a build, it notes that and waits until it may go on.
const NODE: &str = r#"#!/bin/sh
work="$(dirname "$(dirname "$0")")/work"
name=
case "$*" in *describe*) name=$(sed -n 's|^// gate ||p' "$(dirname "$work")/hello/plugin.js") ;; esac
if [ -n "$name" ]; then
  echo "begin $name" >> "$work/log"
  echo $$ > "$work/$name.new"
  mv "$work/$name.new" "$work/$name"
  until [ -e "$work/go-$name" ]; do sleep 0.01; done
  echo "end $name" >> "$work/log"
fi
PATH="${PATH#*:}" exec node "$@"
"#;

/// The line of a gate.
fn gate(name: &str) -> String {
    format!("\n// gate {name}\n")
}

/// A plugin in JavaScript with gates.
fn begin_with_gates() -> (Home, PathBuf) {
    let (home, folder) = begin("javascript");
    fs::create_dir(home.path().join("bin")).unwrap();
    let node = home.write("bin/node", NODE);
    fs::set_permissions(node, fs::Permissions::from_mode(0o755)).unwrap();
    (home, folder)
}

/// Waits until a module waits; the id of its process.
fn waits(server: &Server, name: &str) -> u32 {
    let path = server.home.work().join(name);
    let id = eventually(PATIENCE, || fs::read_to_string(&path).ok());
    id.unwrap_or_else(|| panic!("{name} is not loaded\n{}", server.log())).trim().parse().unwrap()
}

#[test]
fn a_change_during_a_build_makes_one_more() {
    let (home, folder) = begin_with_gates();
    let (work, source) = (home.work(), folder.join("plugin.js"));
    let plain = fs::read_to_string(&source).unwrap();
    let mut client = start(home);
    assert_eq!(greet(&mut client), "Hello, Ada!");
    fs::write(&source, plain.replace("Hello", "Second") + &gate("second")).unwrap();
    waits(&client.server, "second");
    // While it is built, in several steps.
    fs::write(folder.join("extra.js"), "").unwrap();
    for step in ["Third, not yet", "Third"] {
        fs::write(&source, plain.replace("Hello", step) + &gate("third")).unwrap();
    }
    assert_eq!(greet(&mut client), "Hello, Ada!", "a build does not keep calls waiting");
    fs::write(work.join("go-second"), "").unwrap();
    waits(&client.server, "third");
    fs::write(work.join("go-third"), "").unwrap();
    client.server.wait_for_log("s: extra.js, plugin.js changed");
    let third = eventually(PATIENCE, || (greet(&mut client) == "Third, Ada!").then_some(()));
    assert!(third.is_some(), "{}", client.server.log());
    let log = fs::read_to_string(work.join("log")).unwrap();
    assert_eq!(log, "begin second\nend second\nbegin third\nend third\n", "one after the other");
    assert_eq!(client.server.log().matches("built hello.wasm").count(), 3, "{}", client.server.log());
}

/// The first build may install tools, for minutes. A client that starts the program gets its answers before.
#[test]
fn a_long_first_build_keeps_no_client_waiting() {
    let (home, folder) = begin_with_gates();
    let (work, source) = (home.work(), folder.join("plugin.js"));
    let plain = fs::read_to_string(&source).unwrap();
    fs::write(&source, plain + &gate("first")).unwrap();
    let mut client = start_unbuilt(home);
    assert_eq!(client.tools().len(), 0, "{}", client.server.log());
    client.server.wait_for_log("serving what is there; the build goes on");
    waits(&client.server, "first");
    fs::write(work.join("go-first"), "").unwrap();
    client.server.wait_for_log("built hello.wasm in");
    let greeted = eventually(PATIENCE, || (client.tools().len() == 1).then(|| greet(&mut client)));
    assert_eq!(greeted.as_deref(), Some("Hello, Ada!"), "{}", client.server.log());
}

/// The processes of a group that have not ended.
fn group(leader: u32) -> Vec<u32> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    ids.filter(|id| group_of(*id) == Some(leader)).collect()
}

/// The group of a process that has not ended.
fn group_of(id: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // Its name may have spaces: after it are state, parent and group.
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    let state = fields.next()?;
    fields.nth(1)?.parse().ok().filter(|_| state != "Z")
}

/// What a descriptor of a process refers to.
fn descriptor(id: u32, number: u32) -> Option<(u64, u64)> {
    fs::metadata(format!("/proc/{id}/fd/{number}")).ok().map(|file| (file.dev(), file.ino()))
}

/// Waits for the server's end, and until nothing is left of the build that this process belonged to.
fn ends_with_its_build(server: &mut Server, process: u32) {
    let leader = group_of(process).expect("the build runs");
    assert_ne!(Some(leader), group_of(server.id()), "a group of its own");
    let wire = server.wire();
    assert!(descriptor(process, 0).is_some(), "this user sees the descriptors of the build");
    for (id, number) in group(leader).into_iter().flat_map(|id| (0..64).map(move |number| (id, number))) {
        let has_it = descriptor(id, number).is_some_and(|there| wire.contains(&there));
        assert!(!has_it, "{id} has the client's pipe as {number}");
    }
    server.close_stdin();
    assert!(server.ended().success(), "{}", server.log());
    let gone = eventually(PATIENCE, || group(leader).is_empty().then_some(()));
    assert!(gone.is_some(), "of the build there is left {:?}", group(leader));
}

#[test]
fn the_end_of_stdin_and_a_signal_end_a_build_that_runs() {
    let (home, folder) = begin_with_gates();
    let source = folder.join("plugin.js");
    let plain = fs::read_to_string(&source).unwrap();
    fs::write(&source, plain.clone() + &gate("first")).unwrap();
    // Before anything is served, with a request that nobody has read.
    let mut server = Server::dev(home, &["hello"]);
    server.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}));
    let process = waits(&server, "first");
    ends_with_its_build(&mut server, process);

    fs::write(&source, &plain).unwrap();
    let mut client = start(std::mem::take(&mut server.home));
    assert_eq!(greet(&mut client), "Hello, Ada!");
    fs::write(&source, plain.clone() + &gate("second")).unwrap();
    let process = waits(&client.server, "second");
    ends_with_its_build(&mut client.server, process);

    fs::write(&source, &plain).unwrap();
    let mut client = start(std::mem::take(&mut client.server.home));
    assert_eq!(greet(&mut client), "Hello, Ada!");
    fs::write(&source, plain + &gate("third")).unwrap();
    let process = waits(&client.server, "third");
    let leader = group_of(process).unwrap();
    client.server.signal("-INT");
    assert!(client.server.ended().success());
    let gone = eventually(PATIENCE, || group(leader).is_empty().then_some(()));
    assert!(gone.is_some(), "of the build there is left {:?}", group(leader));
}

#[test]
fn what_is_requested_and_not_granted_is_told_once_with_the_command_that_grants_it() {
    let (home, folder) = begin("c");
    let manifest = folder.join("manifest.json");
    edit(&manifest, "{}", r#"{"env": ["TZ"], "state": true}"#);
    let mut client = start(home);
    greet(&mut client);
    let [one, other] = [r#"grant hello 'env = ["TZ"]' --config"#, "grant hello 'state = {}' --config"];
    client.server.wait_for_log("hello requests what is not granted, so that it is denied. To grant it:");
    client.server.wait_for_log(one);
    let line = client.server.wait_for_log(other);

    // The command does it, as it is written there.
    let words = ["grant", "hello", "state = {}", "--config", "hello/portcullis.toml", "--yes"];
    assert_eq!(line.trim(), "portcullis grant hello 'state = {}' --config hello/portcullis.toml");
    portcullis(&client.server.home, &words).good();
    // The next build says what is left, and one after that nothing.
    edit(&folder.join("plugin.c"), "Hello", "Ave");
    until_logged(&client.server, one, 2);
    edit(&folder.join("plugin.c"), "Ave", "Salve");
    until_logged(&client.server, "built hello.wasm", 3);
    edit(&manifest, r#"["TZ"]"#, r#"["TZ", "LANG"]"#);
    client.server.wait_for_log(r#"'env = ["LANG"]'"#);
    let log = client.server.log();
    assert_eq!((log.matches(one).count(), log.matches(other).count()), (3, 1), "{log}");
}

#[test]
fn without_a_configuration_nothing_is_granted() {
    let (home, folder) = begin("c");
    fs::remove_file(folder.join("portcullis.toml")).unwrap();
    edit(&folder.join("manifest.json"), "{}", r#"{"env": ["TZ"]}"#);
    let mut client = start(home);
    assert_eq!(greet(&mut client), "Hello, Ada!");
    client.server.wait_for_log("write hello/portcullis.toml, start again");
    client.server.wait_for_log("  [plugins.hello]");
    edit(&folder.join("plugin.c"), "Hello", "Ave");
    until_greeted(&mut client, "Ave, Ada!");
    assert!(client.server.end().success());
    let home = std::mem::take(&mut client.server.home);
    assert!(!folder.join("portcullis.toml").exists(), "nothing is written");

    // A component that is newer than the sources is served as it is.
    let mut client = start(home);
    assert_eq!(greet(&mut client), "Ave, Ada!");
    assert!(!client.server.log().contains("built hello.wasm"), "{}", client.server.log());
}

#[test]
fn over_http_stdin_means_nothing() {
    let (home, folder) = begin("c");
    let mut server = Server::dev(home, &["hello", "--http", "127.0.0.1:0"]);
    server.close_stdin();
    server.address();
    edit(&folder.join("plugin.c"), "Hello", "Ave");
    server.wait_for_log("hello.wasm changed plugin=");
    assert!(server.is_alive());
    server.terminate();
    assert!(server.ended().success());
}

#[test]
fn what_cannot_be_served_is_said_at_once() {
    let (home, folder) = begin("c");
    let refused = |said: &str| {
        let ran = portcullis(&home, &["dev", "hello"]);
        assert!(ran.refused().contains(said), "{ran:?}");
    };
    let config = folder.join("portcullis.toml");
    fs::write(&config, "[plugins.other]\nsource = \"../other.wasm\"\n").unwrap();
    refused("add [plugins.hello] with source = \"hello.wasm\"");
    let digest = format!("[plugins.x]\nsource = \"x.wasm\"\ndigest = \"sha256:{}\"\n", "0".repeat(64));
    fs::write(&config, digest).unwrap();
    refused("[plugins.x] has a `digest`");
    fs::write(folder.join("manifest.json"), "{}").unwrap();
    refused("is not a manifest");
    fs::remove_file(folder.join("manifest.json")).unwrap();
    refused("portcullis new NAME");
}

/// A client may start the same command twice, and an author may build by hand.
#[test]
fn builds_of_one_folder_wait_for_each_other() {
    let (home, folder) = begin_with_gates();
    let (work, source) = (home.work(), folder.join("plugin.js"));
    let mut client = start(home);
    assert_eq!(greet(&mut client), "Hello, Ada!");
    let plain = fs::read_to_string(&source).unwrap();
    fs::write(&source, plain.replace("Hello", "Ave") + &gate("once")).unwrap();
    waits(&client.server, "once");
    std::thread::scope(|scope| {
        let home = &client.server.home;
        let mut build = std::process::Command::new(suite::paths::binary());
        build.args(["build", "hello"]).current_dir(home.path()).env("PORTCULLIS_CACHE", suite::paths::cache());
        build.env("PATH", Server::path_with_tools(home));
        build.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::piped());
        let mut build = build.spawn().unwrap();
        let mut said = std::io::BufReader::new(build.stderr.take().unwrap());
        let mut line = String::new();
        std::io::BufRead::read_line(&mut said, &mut line).unwrap();
        assert!(line.starts_with("waiting for another build of "), "{line}");
        fs::write(work.join("go-once"), "").unwrap();
        scope.spawn(move || std::io::copy(&mut said, &mut std::io::sink()).unwrap());
        assert!(build.wait().unwrap().success());
    });
    assert_eq!(fs::read_to_string(work.join("log")).unwrap(), "begin once\nend once\n".repeat(2));
    until_greeted(&mut client, "Ave, Ada!");
}
