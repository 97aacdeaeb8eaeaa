//! The cache of compiled code: an intact entry is used, an altered one is recompiled.

use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use suite::{Client, Era, Home, Server, plugin};
use tempfile::TempDir;

/// Starts a server with this cache, calls the guest once, and returns the log.
fn session(cache: &Path) -> String {
    let server = Server::spawn(Home::new(), &plugin("echo", ""), &[], |command| {
        command.env("PORTCULLIS_CACHE", cache).env("PORTCULLIS_LOG", "info");
    });
    server.wait_until_loaded();
    let mut client = Client::new(server, Era::Modern, false);
    client.check_alive();
    assert!(client.run("echo", json!({"n": 4})).good().contains('4'));
    client.server.end();
    client.server.log()
}

/// The only entry of a cache.
fn entry(cache: &Path) -> PathBuf {
    let entries = fs::read_dir(cache).unwrap().map(|entry| entry.unwrap().path());
    let entries: Vec<_> = entries.filter(|path| is_code(path)).collect();
    assert_eq!(entries.len(), 1, "{entries:?}");
    entries[0].clone()
}

fn is_code(path: &Path) -> bool {
    path.extension() == Some("bin".as_ref())
}

#[test]
fn a_second_start_compiles_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    assert!(session(&cache).contains("compiling"));
    let first = fs::metadata(entry(&cache)).unwrap().modified().unwrap();
    assert!(!session(&cache).contains("compiling"));
    assert_eq!(fs::metadata(entry(&cache)).unwrap().modified().unwrap(), first);
}

#[test]
fn identical_plugins_are_compiled_once() {
    let (folder, home) = (tempfile::tempdir().unwrap(), Home::new());
    let source = suite::paths::guest("echo");
    let config: String = (0..10).map(|number| suite::plugin_from(&format!("p{number}"), &source, "")).collect();
    let server = Server::spawn(home, &config, &[], |command| {
        command.env("PORTCULLIS_CACHE", folder.path().join("cache")).env("PORTCULLIS_LOG", "info");
    });
    server.wait_until_loaded();
    let mut client = Client::new(server, Era::Modern, false);
    assert_eq!(client.tools().len(), 10);
    client.call("p7__run", json!({"n": 1})).good();
    assert!(client.server.end().success());
    assert_eq!(client.server.log().matches("compiling").count(), 1, "{}", client.server.log());
}

#[test]
fn a_cache_writable_by_others_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    session(&cache);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&cache) & 0o077, 0, "{:o}", mode(&cache));
    assert_eq!(mode(&entry(&cache)) & 0o022, 0);
    fs::set_permissions(&cache, fs::Permissions::from_mode(0o777)).unwrap();
    let home = Home::new();
    let file = home.write("portcullis.toml", plugin("echo", ""));
    let mut command = Command::new(suite::paths::binary());
    command.args(["serve", "--config"]).arg(file).env("PORTCULLIS_CACHE", &cache);
    let ran = suite::cli::run(command);
    assert!(ran.refused().contains("cache"), "{}", ran.stderr);
}

#[test]
fn a_corrupted_entry_is_recompiled_and_never_loaded() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    session(&cache);
    let path = entry(&cache);
    let good = fs::read(&path).unwrap();
    for at in [0, 31, 32, 40, good.len() / 2, good.len() - 1] {
        let mut bad = good.clone();
        bad[at] ^= 0x10;
        fs::write(&path, &bad).unwrap();
        assert!(session(&cache).contains("compiling"), "byte {at} was changed and nobody noticed");
        assert_ne!(fs::read(&path).unwrap(), bad, "a good entry takes its place");
    }
    for length in [0, 10, 32, good.len() / 2] {
        fs::write(&path, &good[..length]).unwrap();
        assert!(session(&cache).contains("compiling"), "cut to {length} bytes and nobody noticed");
    }
}

/// A server whose echo plugin is this file, and which reloads nothing by itself. An ordinary user could not read the kernel's
/// account of a confined one.
fn serving(cache: &Path, component: &Path, settings: &str) -> Client {
    let server = "[server]\nreload = false\nconfine = false\n";
    let config = server.to_owned() + &suite::plugin_from("echo", component, settings);
    let server = Server::spawn(Home::new(), &config, &[], |command| {
        command.env("PORTCULLIS_CACHE", cache).env("PORTCULLIS_LOG", "info");
    });
    server.wait_until_loaded();
    let mut client = Client::new(server, Era::Modern, false);
    assert!(!client.tools().is_empty());
    client
}

/// A server that knows the component, whose code is gone from the cache; with the folders of the cache and the component.
fn serving_without_code(source: &Path, settings: &str) -> (Client, TempDir, PathBuf, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let (cache, component) = (folder.path().join("cache"), folder.path().join("echo.wasm"));
    fs::copy(source, &component).unwrap();
    drop(serving(&cache, &component, settings));
    let client = serving(&cache, &component, settings);
    fs::remove_file(entry(&cache)).unwrap();
    (client, folder, cache, component)
}

#[test]
fn code_that_is_gone_at_the_first_call_is_compiled_again() {
    let (mut client, _folder, cache, _) = serving_without_code(&suite::paths::guest("echo"), "");
    assert!(client.run("echo", json!({"n": 4})).good().contains('4'));
    assert!(client.server.end().success());
    assert_eq!(client.server.log().matches("compiling").count(), 1, "{}", client.server.log());
    assert!(entry(&cache).exists());
}

#[test]
fn code_that_is_gone_is_not_replaced_by_other_code() {
    let (mut client, _folder, cache, component) = serving_without_code(&suite::paths::guest("echo"), "");
    fs::copy(suite::paths::guest("panic"), &component).unwrap();
    assert_eq!(client.run("echo", json!({"n": 4})).code(), "internal");
    let log = client.server.wait_for_log("cannot be loaded");
    assert!(log.contains("plugins.echo") && log.contains("echo.wasm is sha256:"), "{log}");
    assert!(fs::read_dir(&cache).unwrap().flatten().all(|entry| !is_code(&entry.path())));
    fs::copy(suite::paths::guest("echo"), &component).unwrap();
    client.run("echo", json!({"n": 4})).good();
}

#[test]
fn another_build_of_the_host_checks_again_and_compiles_nothing() {
    let (folder, home) = (tempfile::tempdir().unwrap(), Home::new());
    let cache = folder.path().join("cache");
    let config = home.write("portcullis.toml", plugin("echo", ""));
    let call = |program: &Path| {
        let mut command = Command::new(program);
        command.args(["call", "--config"]).arg(&config).args(["echo", "run", r#"{"n":4}"#]);
        let ran = {
            command.env("PORTCULLIS_CACHE", &cache).env("PORTCULLIS_LOG", "info");
            suite::cli::run(command)
        };
        assert!(ran.good().contains('4'), "{ran:?}");
        let notes = fs::read_dir(&cache).unwrap().map(|entry| entry.unwrap().path());
        let description = notes
            .filter(|path| path.extension() == Some("note".as_ref()))
            .find(|path| path.file_name().unwrap().to_string_lossy().starts_with("sha256-"));
        (ran.stderr.contains("compiling"), fs::read(description.unwrap()).unwrap())
    };
    let other = folder.path().join("portcullis");
    fs::copy(suite::paths::binary(), &other).unwrap();
    let (compiled, first) = call(&suite::paths::binary());
    assert!(compiled && call(&suite::paths::binary()) == (false, first.clone()));
    let (compiled, second) = call(&other);
    assert!(!compiled && first != second, "what another program found out was believed");
    assert_eq!(call(&other), (false, second));
}

/// A component whose memory begins with this number, and with enough code to be compiled apart from it.
fn numbered(number: u8) -> Vec<u8> {
    let text = format!(
        r#"(component
            (core module $m
                (memory 1) (data (i32.const 8) "\{number:02x}") (func {nops})
                (func (export "read") (result i32) (i32.load8_u (i32.const 8))))
            (core instance $i (instantiate $m))
            (func (export "read") (result u32) (canon lift (core func $i "read"))))"#,
        nops = "nop ".repeat(300 << 10),
    );
    wat::parse_str(text).unwrap()
}

#[test]
fn a_component_with_another_image_has_the_code_of_the_first() {
    let (folder, home) = (tempfile::tempdir().unwrap(), Home::new());
    let cache = folder.path().join("cache");
    let call = |number: u8| {
        let source = home.write("numbered.wasm", numbered(number));
        let config = home.write("portcullis.toml", suite::plugin_from("numbered", &source, ""));
        let mut command = Command::new(suite::paths::binary());
        command.args(["call", "--config"]).arg(config).args(["numbered", "read"]).env("PORTCULLIS_CACHE", &cache);
        let said = suite::cli::run(command).good().to_owned();
        assert!(said.contains(&number.to_string()), "{said}");
    };
    (40..43).for_each(call);
    let paths = || fs::read_dir(&cache).unwrap().map(|entry| entry.unwrap().path());
    let is_image = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with("image-");
    let notes: Vec<_> = paths().filter(is_image).collect();
    assert_eq!(notes.len(), 1, "all but the image is the same: {notes:?}");
    let code: Vec<_> = paths().filter(|path| is_code(path)).map(|path| fs::read(path).unwrap()).collect();
    assert_eq!(code.len(), 3);
    // The MAC is different, too.
    let differ = code[0].iter().zip(&code[1]).skip(32).filter(|(one, other)| one != other).count();
    assert_eq!((differ, code[0].len()), (1, code[1].len()));
    // What is damaged is not the code of the next one.
    for path in paths().filter(|path| is_code(path)) {
        let mut bad = fs::read(&path).unwrap();
        let middle = bad.len() / 2;
        bad[middle] ^= 1;
        fs::write(path, bad).unwrap();
    }
    call(43);
}

#[test]
fn a_call_that_waits_for_its_code_keeps_its_deadline() {
    let slow = suite::paths::real_plugin("hello-javascript");
    let (mut client, _folder, cache, _) = serving_without_code(
        &slow,
        "limits.deadline = \"200ms\"\nlimits.memory = \"128 MiB\"\nlimits.fuel = 10_000_000_000\n",
    );
    let has_code = || fs::read_dir(&cache).unwrap().flatten().any(|entry| is_code(&entry.path()));
    let greet = json!({"name": "Ada"});
    assert_eq!(client.call("echo__greet", greet.clone()).code(), "deadline-exceeded");
    assert!(!has_code(), "the call waited until its code was compiled");
    // Nobody calls now, and the code is compiled to the end.
    suite::eventually(suite::PATIENCE, || has_code().then_some(())).expect("nobody compiles it");
    assert_eq!(client.server.log().matches("compiling").count(), 1, "{}", client.server.log());
    let greeted = || (!client.call("echo__greet", greet.clone()).is_error()).then_some(());
    suite::eventually(suite::PATIENCE, greeted).expect("it is never called");
}

#[test]
fn a_start_reads_no_component_that_is_as_it_was() {
    const LARGE: u64 = 20 << 20;
    let folder = tempfile::tempdir().unwrap();
    let (cache, component) = (folder.path().join("cache"), folder.path().join("echo.wasm"));
    let mut bytes = fs::read(suite::paths::guest("echo")).unwrap();
    // A custom section of 20 MiB without a name: its length takes four bytes.
    let length = LARGE + 1;
    bytes.push(0);
    bytes.extend((0..4).map(|at| (length >> (7 * at)) as u8 & 0x7f | if at < 3 { 0x80 } else { 0 }));
    bytes.resize(bytes.len() + usize::try_from(length).unwrap(), 0);
    fs::write(&component, &bytes).unwrap();
    let read_by_start = || {
        let client = serving(&cache, &component, "");
        let io = fs::read_to_string(format!("/proc/{}/io", client.server.id())).unwrap();
        let read = io.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap();
        read.parse::<u64>().unwrap()
    };
    assert!(read_by_start() > LARGE, "an unknown file is read");
    // While a file is new, its stamp proves nothing.
    let settled = || (read_by_start() < LARGE / 4).then_some(());
    suite::eventually(Duration::from_secs(60), settled).expect("no start leaves the file unread");
    fs::write(&component, fs::read(suite::paths::guest("panic")).unwrap()).unwrap();
    let mut client = serving(&cache, &component, "");
    assert_eq!(client.run("echo", json!({"n": 4})).code(), "trap", "a changed file is noticed");
}

#[test]
fn a_symlink_in_the_cache_is_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    session(&cache);
    let path = entry(&cache);
    let elsewhere = folder.path().join("elsewhere");
    fs::write(&elsewhere, b"not what was compiled").unwrap();
    fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
    assert!(session(&cache).contains("compiling"));
    assert_eq!(fs::read(&elsewhere).unwrap(), b"not what was compiled", "written through a link");
}
