//! Persistent state of a plugin: key-value data, separate for each principal, and a private directory.

use serde_json::{Value, json};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::time::Instant;
use suite::client::modern_meta;
use suite::http::{self, request};
use suite::{Called, Client, Home, Server, plugin};

/// Calls `keeper` with the operation in `path`.
fn keep(client: &mut Client, path: &str) -> Called {
    client.run("keeper", json!({ "path": path }))
}

#[test]
fn state_needs_a_grant() {
    let mut client = Client::of(&plugin("keeper", ""));
    for path in ["get k", "set k v", "swap k - v", "remove k", "keys k"] {
        let called = keep(&mut client, path);
        assert_eq!(called.code(), "denied", "{path}: {}", called.result());
        assert!(called.text().ends_with("Ask the user, who alone can allow it"), "{}", called.text());
    }
    client.server.wait_for_log("To allow it: portcullis grant keeper 'state = {}'");
    assert!(!client.server.home.path().join("state/values.db").exists(), "nothing is made for nobody");
}

#[test]
fn values_can_be_changed_listed_and_removed() {
    let mut client = Client::of(&plugin("keeper", "grants.state = {}"));
    assert_eq!(keep(&mut client, "get k").good(), "nothing");
    assert_eq!(keep(&mut client, "swap k 1 v").text(), "StateError::Conflict");
    let version = keep(&mut client, "swap k - v").good();
    assert_eq!(keep(&mut client, "swap k - w").text(), "StateError::Conflict");
    assert_eq!(keep(&mut client, "get k").good(), "v");
    keep(&mut client, &format!("swap k {version} w")).good();
    assert_eq!(keep(&mut client, &format!("swap k {version} x")).text(), "StateError::Conflict");
    assert_eq!(keep(&mut client, "remove k").good(), "true");
    assert_eq!(keep(&mut client, "remove k").good(), "false");
    keep(&mut client, "set k again").good();
    assert_eq!(
        keep(&mut client, &format!("swap k {version} x")).text(),
        "StateError::Conflict",
        "no version comes back"
    );
    client.run("keeper", json!({"path": "many page/", "n": 130})).good();
    let page = |client: &mut Client, after: &str| keep(client, &format!("keys page/ {after}")).good();
    let first = page(&mut client, "");
    let names: Vec<_> = first.split(',').collect();
    assert_eq!((names.len(), names[0], names[99]), (100, "page/0000", "page/0099"));
    assert_eq!(page(&mut client, names[99]).split(',').count(), 30);
    for bad in ["get ä", "set a%b v", "get "] {
        assert!(keep(&mut client, bad).text().starts_with("StateError::Invalid"), "{bad}");
    }
}

#[test]
fn state_is_limited_to_the_granted_size_and_keys() {
    let mut client = Client::of(&plugin("keeper", r#"grants.state = { size = "1 KiB", keys = 3 }"#));
    let fill = |client: &mut Client, n: u64| client.run("keeper", json!({"path": "fill k", "n": n}));
    fill(&mut client, 1023).good();
    for (path, n) in [("fill k", 1024), ("fill other", 1), ("fill k", 1 << 22)] {
        let called = client.run("keeper", json!({"path": path, "n": n}));
        assert!(called.is_error() && called.text().contains("1024"), "{path} {n}: {}", called.result());
    }
    fill(&mut client, 1).good();
    keep(&mut client, "set a v").good();
    keep(&mut client, "set b v").good();
    assert!(keep(&mut client, "set c v").is_error(), "three keys were granted");
    keep(&mut client, "remove a").good();
    keep(&mut client, "set c v").good();
}

/// A call with an API key.
fn call(address: SocketAddr, key: &str, path: &str) -> Called {
    let params = json!({"name": "keeper__run", "arguments": {"path": path}, "_meta": modern_meta(false)});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let bearer = format!("Bearer {key}");
    let headers = [
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", "keeper__run"),
        ("Authorization", bearer.as_str()),
    ];
    Called(request(address, "POST", &headers, &body.to_string()).answer(1, Instant::now()))
}

#[test]
fn each_principal_has_its_own_state() {
    let home = Home::new();
    let [alice, bob] = home.keys(["alice", "bob"]);
    let source = suite::paths::guest("keeper");
    let config = plugin("keeper", "grants.state = { keys = 1 }")
        + &suite::plugin_from("other", &source, "grants.state = {}")
        + "[server.auth]\nkeys = \"keys.toml\"\n";
    let (_server, address) = Server::start_http_in(home, &config);
    call(address, &alice, "set k hers").good();
    assert_eq!(call(address, &bob, "get k").good(), "nothing");
    assert_eq!(call(address, &bob, "keys k").good(), "");
    assert_eq!(call(address, &bob, "remove k").good(), "false");
    call(address, &bob, "set k his").good();
    assert_eq!(call(address, &alice, "get k").good(), "hers", "one key each, under one name");
    assert!(call(address, &alice, "set another v").is_error());
}

#[test]
fn acknowledged_writes_survive_a_kill() {
    let (mut server, mut address) = Server::start_http(&plugin("keeper", "grants.state = {}"));
    for round in 1..=5 {
        let called = http::call(address, "keeper__run", json!({"path": "count k"}), false);
        assert_eq!(called.good(), round.to_string());
        address = server.restart();
    }
}

#[test]
fn parallel_calls_lose_no_updates() {
    let (_server, address) = Server::start_http(&plugin("keeper", "grants.state = {}"));
    let count = || http::call(address, "keeper__run", json!({"path": "count k"}), false).good();
    std::thread::scope(|scope| {
        let callers: Vec<_> = (0..8).map(|_| scope.spawn(|| (0..5).map(|_| count()).collect::<Vec<_>>())).collect();
        let mut seen: Vec<u32> =
            callers.into_iter().flat_map(|it| it.join().unwrap()).map(|number| number.parse().unwrap()).collect();
        seen.sort_unstable();
        assert_eq!(seen, (1..=40).collect::<Vec<_>>(), "each saw a number of its own");
    });
}

#[test]
fn without_a_state_folder_nothing_is_stored() {
    let server = Server::spawn(Home::new(), &plugin("keeper", "grants.state = {}"), &[], |command| {
        command.env_remove("PORTCULLIS_STATE").env_remove("XDG_STATE_HOME").env_remove("HOME");
    });
    let mut client = Client::of_server(server);
    let said = keep(&mut client, "set k v").text();
    assert!(said.contains("no state folder"), "{said}");
    client.server.wait_for_log("set PORTCULLIS_STATE or server.state");
}

/// Calls `own-folder` with the operation in `path`.
fn own(client: &mut Client, path: &str, n: u64) -> Called {
    client.run("own-folder", json!({"path": path, "n": n}))
}

const OWN: &str = r#"grants.scratch = { guest = "/own", size = "64 KiB" }"#;

#[test]
fn a_private_directory_persists_and_is_limited() {
    let source = suite::paths::guest("own-folder");
    let mut client = Client::of(&(plugin("own-folder", OWN) + &suite::plugin_from("neighbour", &source, OWN)));
    own(&mut client, "write a", 10).good();
    assert_eq!(own(&mut client, "read a", 0).good(), "10");
    assert_eq!(client.run("neighbour", json!({"path": "list"})).good(), "");
    let folder = client.server.home.path().join("state/scratch");
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder.join("plugins.own-folder")), 0o700);
    for out in ["/own/../plugins.neighbour/x", "/own/../../values.db", "/etc/passwd", "../x"] {
        assert!(own(&mut client, &format!("out {out}"), 0).is_error(), "{out}");
    }
    std::os::unix::fs::symlink("/etc", folder.join("plugins.own-folder/link")).unwrap();
    assert!(own(&mut client, "read link/passwd", 0).is_error());
    std::fs::write(folder.join("plugins.own-folder/large"), [0; 100_000]).unwrap();
    let full = own(&mut client, "list", 0);
    assert_eq!((full.code(), full.number("limit")), ("scratch-exceeded", 64 << 10));
    assert!(!full.text().contains("portcullis"), "{}", full.text());
    client.server.wait_for_log("portcullis grant own-folder 'scratch = { size = ");
    std::fs::remove_file(folder.join("plugins.own-folder/large")).unwrap();
    assert_eq!(own(&mut client, "list", 0).good(), "a,link");
}

#[test]
fn a_link_that_replaced_a_private_directory_is_refused() {
    let mut client = Client::of(&plugin("own-folder", OWN));
    own(&mut client, "write a", 10).good();
    let (folder, outside) =
        (client.server.home.path().join("state/scratch/plugins.own-folder"), client.server.home.outside());
    std::fs::remove_dir_all(&folder).unwrap();
    std::os::unix::fs::symlink(&outside, &folder).unwrap();
    assert_eq!(own(&mut client, "write b", 10).code(), "internal");
    assert!(!outside.join("b").exists());
    client.server.wait_for_log("it is a link; put the folder itself here");
}

/// Each operation fills, or tries to overfill, the 64 KiB in another way. The test measures the directory from outside.
#[test]
fn no_operation_exceeds_the_quota_of_a_private_directory() {
    let mut client = Client::of(&(String::from("[server]\nmetrics = \"127.0.0.1:0\"\n") + &plugin("own-folder", OWN)));
    let folder = client.server.home.path().join("state/scratch/plugins.own-folder");
    for (way, n, expected) in [
        // The guest's standard library reports every stream error this way.
        ("write large", 100_000, "I/O error"),
        ("far away", 1 << 40, "I/O error"),
        ("hole large", 1 << 40, "No space left on device"),
        ("hole small", 60_000, "made"),
        ("over again", 1_000, "written"),
        ("files", 0, "16 Some(StorageFull)"),
        ("folders", 0, "16 Some(StorageFull)"),
        ("links", 0, "15 Some(StorageFull)"),
        ("removed", 20_000, "2 Some("),
    ] {
        let called = own(&mut client, way, n);
        assert!(called.text().contains(expected), "{way}: {}", called.text());
        let sizes = |entry: std::fs::DirEntry| entry.metadata().unwrap().len().max(4096);
        let whole: u64 = std::fs::read_dir(&folder).unwrap().map(|entry| sizes(entry.unwrap())).sum();
        assert!(whole <= 64 << 10, "{way}: {whole}");
        std::fs::remove_dir_all(&folder).unwrap();
        std::fs::create_dir(&folder).unwrap();
    }
    client.server.wait_for_log("denied: scratch `a directory of its own` is full");
    let journal = client.server.home.path().join("state/audit");
    let recorded = || {
        let files = std::fs::read_dir(&journal).unwrap().flatten();
        let text: String = files.filter_map(|file| std::fs::read_to_string(file.path()).ok()).collect();
        // Seven operations exceeded the quota, and each call logs it once.
        (text.matches("\"reason\":\"is full\"").count() >= 7).then_some(text.matches("\"reason\":\"is full\"").count())
    };
    assert_eq!(suite::eventually(suite::PATIENCE, recorded), Some(7));
}

#[test]
fn concurrent_calls_share_one_directory_quota() {
    let (server, address) = Server::start_http(&plugin("own-folder", OWN));
    let calls: Vec<_> = (0..8)
        .map(|number| {
            std::thread::spawn(move || {
                let arguments = json!({"path": format!("write file{number}"), "n": 20_000});
                suite::http::call(address, "own-folder__run", arguments, false).is_error()
            })
        })
        .collect();
    let failed = calls.into_iter().map(|call| call.join().unwrap()).filter(|failed| *failed).count();
    let folder = server.home.path().join("state/scratch/plugins.own-folder");
    let whole: u64 = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).sum();
    assert!(whole <= 64 << 10, "{whole}");
    assert!((5..8).contains(&failed), "{failed} of 8 had no room for 20,000 bytes in 64 KiB");
}

/// The plugin with 256 KiB.
fn own_config(more: &str) -> String {
    plugin("own-folder", &format!("grants.scratch = {{ guest = \"/own\", size = \"256 KiB\" }}\n{more}"))
}

/// Its directory.
fn own_folder(server: &Server) -> std::path::PathBuf {
    server.home.path().join("state/scratch/plugins.own-folder")
}

/// The plugin over HTTP, and its directory.
fn own_over_http(more: &str) -> (Server, SocketAddr, std::path::PathBuf) {
    let (server, address) = Server::start_http(&own_config(more));
    let folder = own_folder(&server);
    (server, address, folder)
}

fn own_http(address: SocketAddr, path: &str, n: u64) -> Called {
    http::call(address, "own-folder__run", json!({"path": path, "n": n}), false)
}

#[test]
fn what_is_nested_beyond_all_paths_counts() {
    let (_server, address, _folder) = own_over_http("");
    // 20 folders and a file of 25 blocks are 180 KiB; the file's path would have 5,000 bytes.
    own_http(address, "deep 20", 100 << 10).good();
    assert!(own_http(address, "write a", 80 << 10).is_error(), "it would be 260 KiB");
    own_http(address, "remove a", 0).good();
    own_http(address, "write a", 60 << 10).good();
}

#[test]
fn a_removed_file_that_another_call_holds_still_counts() {
    let server = Server::measurable(Home::new(), &own_config(""), &["--http", "127.0.0.1:0"], |_| {});
    let (address, folder) = (server.address(), own_folder(&server));
    own_http(address, "write a", 200 << 10).good();
    std::thread::scope(|scope| {
        let holder = scope.spawn(|| own_http(address, "hold a", 0));
        let held = || server.has_open(&folder.join("a")).then_some(());
        suite::eventually(suite::PATIENCE, held).unwrap();
        own_http(address, "remove a", 0).good();
        let next = own_http(address, "write b", 200 << 10);
        std::fs::write(folder.join("go"), "").unwrap();
        assert_eq!(holder.join().unwrap().good(), "held");
        // What is held and removed, and what has a name.
        let named = std::fs::metadata(folder.join("b")).map_or(0, |file| file.len() >> 10);
        eprintln!("hostile: scratch: {} KiB on the disk, 256 KiB granted", 200 + named);
        assert!(next.is_error(), "400 KiB were on the disk, and 256 KiB are granted");
    });
    own_http(address, "remove b", 0).good();
    own_http(address, "write b", 200 << 10).good();
}

#[test]
fn nothing_leaves_a_private_directory_for_a_granted_one() {
    let granted = r#"grants.filesystem = [{ host = "work", guest = "/work", access = "write" }]"#;
    let (server, address, _folder) = own_over_http(&format!("{granted}\nlimits.file-growth = \"1 KiB\""));
    own_http(address, "write a", 200 << 10).good();
    for way in ["move a", "share a"] {
        let called = own_http(address, way, 0);
        assert!(called.text().contains("Cross-device link"), "{way}: {}", called.result());
    }
    assert!(!server.home.path().join("work/a").exists());
}

#[test]
fn a_call_above_its_rate_measures_nothing() {
    let mut client = Client::of(&plugin("own-folder", &format!("{OWN}\nlimits.rate = \"2/h\"")));
    own(&mut client, "write a", 10).good();
    let folder = client.server.home.path().join("state/scratch/plugins.own-folder");
    std::fs::write(folder.join("large"), [0; 100_000]).unwrap();
    assert_eq!(own(&mut client, "list", 0).code(), "scratch-exceeded", "it counts against the rate");
    assert_eq!(own(&mut client, "list", 0).code(), "rate-limited");
}

#[test]
fn growth_of_granted_directories_is_limited_per_call() {
    let grants = "grants.filesystem = [{ host = \"work\", guest = \"/own\", access = \"write\" }]\nlimits.file-growth = \"64 KiB\"";
    let mut client = Client::of(&plugin("own-folder", grants));
    own(&mut client, "write a", 50_000).good();
    own(&mut client, "write b", 50_000).good();
    assert!(own(&mut client, "write c", 100_000).text().contains("I/O error"));
    client.server.wait_for_log("limits.file-growth under [plugins.own-folder] sets it");
}

#[test]
fn a_private_directory_needs_a_grant_and_a_state_folder() {
    let mut client = Client::of(&plugin("own-folder", ""));
    assert!(own(&mut client, "list", 0).is_error());
    let home = Home::new();
    home.write("portcullis.toml", plugin("own-folder", r#"grants.scratch = { guest = "own" }"#));
    let said = suite::portcullis(&home, &["plugin", "list"]);
    assert!(said.refused().contains("grants.scratch: guest = \"own\" must be an absolute path"), "{said:?}");
}

#[test]
fn a_guest_sees_the_variables_that_are_granted_and_requested() {
    let grants = r#"grants.env = ["PEEK_ONE", "PEEK_UNSET", "PEEK_THREE"]"#;
    let server = Server::spawn(Home::new(), &plugin("env-peek", grants), &[], |command| {
        command.env("PEEK_ONE", "1").env("PEEK_TWO", "2").env("PEEK_THREE", "3");
    });
    let mut client = Client::of_server(server);
    let called = client.run("env-peek", json!({}));
    let found: &Value = &called.result()["structuredContent"];
    assert_eq!(found["env"], json!([["PEEK_ONE", "1"]]), "{found}");
    client.server.wait_for_log("`PEEK_UNSET` is granted, but not set");
    let server = Server::spawn(Home::new(), &plugin("env-peek", grants), &[], |command| {
        command.env("PEEK_ONE", "postgres://app:hunter2@db.example/app");
    });
    let mut client = Client::of_server(server);
    let called = client.run("env-peek", json!({}));
    assert_eq!(called.result()["structuredContent"]["env"], json!([]), "a password is given to no plugin");
    client.server.wait_for_log("`PEEK_ONE` is granted and not given, since its value is an address with a password");
    assert!(!client.server.log().contains("hunter2"));
}

/// Calls at once, each of which measures a directory with as many entries as fit.
const MEASURED: usize = 40;

#[test]
fn measuring_large_directories_is_work_of_the_compute_pool() {
    let grants = "grants.scratch = { guest = \"/own\" }\nlimits.fuel = 100_000_000_000\nlimits.deadline = \"60s\"";
    let (server, address) = Server::start_http(&plugin("own-folder", grants));
    let folder = server.home.path().join("state/scratch/plugins.own-folder");
    http::call(address, "own-folder__run", json!({"path": "read none"}), false);
    for number in 0..16_000 {
        std::fs::File::create(folder.join(format!("file{number}"))).unwrap();
    }
    let cpu = || ["tokio-rt-worker", "guests"].map(|name| server.cpu_of(|thread| thread == name));
    let ([main, pool], threads) = (cpu(), server.threads());
    let call = || http::call(address, "own-folder__run", json!({"path": "read none"}), false);
    let most = std::thread::scope(|scope| {
        let calls: Vec<_> = (0..MEASURED).map(|_| scope.spawn(call)).collect();
        let mut most = 0;
        while !calls.iter().all(std::thread::ScopedJoinHandle::is_finished) {
            most = most.max(server.threads());
            std::thread::yield_now();
        }
        most
    });
    let [main, pool] = std::array::from_fn(|at| cpu()[at] - [main, pool][at]);
    println!("hostile: measuring: {most} threads, {main:?} on the main ones, {pool:?} in the pool");
    assert!(main <= pool, "{main:?} on the main threads, {pool:?} in the pool");
    assert!(most <= threads + 10, "{most} threads instead of {threads}");
}
