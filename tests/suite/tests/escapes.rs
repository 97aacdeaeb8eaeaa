//! Guests that try to escape from their directory: nothing outside is read or changed, whatever path they use.

use serde_json::json;
use std::fs;
use suite::home::{Home, SECRET, fingerprint};
use suite::{Called, Client, Era, PATIENCE, Server, eventually, plugin};

const READ: &str = r#"grants.filesystem = [{ host = "work", guest = "/work", access = "read" }]"#;
const WRITE: &str = r#"grants.filesystem = [{ host = "work", guest = "/work", access = "write" }]"#;

fn client(config: &str) -> Client {
    Client::new(Server::start_in(Home::new(), config), Era::Modern, false)
}

/// Runs an escape under a grant and checks that nothing outside was read or changed.
fn contained(guest: &str, grant: &str) -> Called {
    let mut client = client(&(plugin(guest, grant) + &plugin("echo", "")));
    let outside = client.server.home.outside();
    let before = fingerprint(&outside);
    let known = client.server.home.path().join("portcullis.toml").display().to_string();
    let called = client.run(guest, json!({"path": known}));
    let told = called.result().to_string();
    assert!(!told.contains("SUCCEEDED"), "{guest}: {told}");
    assert!(!told.contains(SECRET) && !told.contains("root:"), "{guest} read what is outside: {told}");
    assert_eq!(fingerprint(&outside), before, "{guest} changed what is outside");
    assert!(called.is_error(), "{guest}: {told}");
    assert!(!told.contains("no directory is granted"), "{guest} had nothing to escape from: {told}");
    client.check_alive();
    called
}

#[test]
fn an_escape_by_dot_dot_is_contained() {
    contained("escape-dotdot", READ);
    contained("escape-dotdot", WRITE);
}

#[test]
fn an_escape_by_absolute_path_is_contained() {
    contained("escape-absolute", READ);
}

#[test]
fn an_escape_by_existing_symlinks_is_contained() {
    contained("escape-symlink", READ);
    contained("escape-symlink", WRITE);
}

#[test]
fn an_escape_by_trailing_slash_is_contained() {
    contained("escape-trailing-slash", READ);
    contained("escape-trailing-slash", WRITE);
}

#[test]
fn an_escape_by_created_symlinks_is_contained() {
    contained("escape-symlink-create", READ);
    contained("escape-symlink-create", WRITE);
}

#[test]
fn a_granted_directory_that_a_guest_replaced_by_a_link_is_not_opened() {
    let inner = r#"grants.filesystem = [{ host = "work/sub", guest = "/work", access = "read" }]"#;
    let mut client = client(&(plugin("write-inside", WRITE) + &plugin("read-inside", inner)));
    let work = client.server.home.work();
    fs::write(work.join("sub/inside.txt"), "below").unwrap();
    // What a host would read that follows the link.
    client.server.home.write("outside/inside.txt", "outside");
    client.server.home.write("inside.txt", "around");
    assert_eq!(client.run("read-inside", json!({})).good(), "below");
    // As a guest can that may write to the directory around it.
    let link = |target: &str| {
        fs::remove_file(work.join("sub")).unwrap();
        std::os::unix::fs::symlink(target, work.join("sub")).unwrap();
    };
    fs::rename(work.join("sub"), work.join("moved")).unwrap();
    fs::write(work.join("sub"), "").unwrap();
    for target in ["../outside", "..", "/", "folder-link"] {
        link(target);
        let called = client.run("read-inside", json!({}));
        assert_eq!(called.code(), "internal", "{target}: {}", called.result());
    }
    client.server.wait_for_log("work/sub cannot be opened");
    link("moved");
    assert_eq!(client.run("read-inside", json!({})).good(), "below", "a link that stays inside");
}

#[test]
fn a_granted_directory_may_be_a_link_of_the_operator_that_changes() {
    let home = Home::new();
    let current = home.path().join("current");
    for release in ["one", "two"] {
        fs::create_dir(home.path().join(release)).unwrap();
        home.write(&format!("{release}/inside.txt"), release);
    }
    std::os::unix::fs::symlink("one", &current).unwrap();
    let grant = r#"grants.filesystem = [{ host = "current", guest = "/work", access = "read" }]"#;
    let mut client = Client::new(Server::start_in(home, &plugin("read-inside", grant)), Era::Modern, false);
    assert_eq!(client.run("read-inside", json!({})).good(), "one");
    fs::remove_file(&current).unwrap();
    assert_eq!(client.run("read-inside", json!({})).code(), "internal", "it is not there");
    std::os::unix::fs::symlink("two", &current).unwrap();
    assert_eq!(client.run("read-inside", json!({})).good(), "two");
}

#[test]
fn a_refused_path_is_reported_with_the_grant_that_allows_it() {
    let called = contained("escape-dotdot", READ);
    let told = called.text();
    assert!(told.contains("denied: filesystem") && told.contains("..") && told.contains("Ask the user"), "{told}");
    assert!(!told.contains("portcullis grant"), "{told}");
}

#[test]
fn a_directory_granted_for_reading_is_not_written() {
    let mut client = client(&(plugin("write-readonly", READ) + &plugin("read-inside", READ)));
    let work = client.server.home.work();
    let before = fingerprint(&work);
    let called = client.run("write-readonly", json!({}));
    assert!(called.is_error() && !called.text().contains("SUCCEEDED"), "{}", called.text());
    assert_eq!(fingerprint(&work), before);
    assert_eq!(client.run("read-inside", json!({})).good(), "inside");
}

#[test]
fn a_file_that_is_not_granted_is_a_denial_with_advice() {
    let advice = "Ask the user, who alone can allow it";
    let mut none = client(&plugin("read-inside", ""));
    let called = none.run("read-inside", json!({"path": "/src/main.rs"}));
    let told = format!("`/src/main.rs` is outside the granted directories. {advice}");
    assert!(called.is_error() && called.text().contains(&told), "{}", called.text());
    none.server.wait_for_log("portcullis grant read-inside 'filesystem = [");
    let mut some = client(&plugin("read-inside", READ));
    let called = some.run("read-inside", json!({"path": "/src/main.rs"}));
    assert!(called.text().contains(&told), "{}", called.text());
    let called = some.run("read-inside", json!({"path": "/work/missing"}));
    assert!(called.is_error() && !called.text().contains("denied"), "{}", called.text());
    // A record is written after the answer.
    let recorded = |client: &Client, words: &[&str]| {
        let tail = || suite::portcullis(&client.server.home, &["audit", "tail"]).stdout;
        eventually(PATIENCE, || words.iter().all(|word| tail().contains(word)).then_some(()))
    };
    for client in [&some, &none] {
        recorded(client, &["denial ", "target=/src/main.rs", "denials=1"]).unwrap();
    }
}

#[test]
fn a_grant_gives_no_more_than_was_requested() {
    let mut client = client(&(plugin("write-unrequested", WRITE) + &plugin("write-inside", WRITE)));
    let called = client.run("write-unrequested", json!({}));
    assert!(called.is_error(), "{}", called.result());
    let text = called.text();
    assert!(text.contains("may only be read. No grant can change that"), "whose fault it is: {text}");
    client.server.wait_for_log("The plugin requests read, not write; no grant can change that");
    assert_eq!(fs::read_to_string(client.server.home.work().join("inside.txt")).unwrap(), "inside");
    client.run("write-inside", json!({"path": "/work/inside.txt"})).good();
}

#[test]
fn granted_files_can_be_read_and_written() {
    let mut client = client(&(plugin("read-inside", READ) + &plugin("write-inside", WRITE)));
    assert_eq!(client.run("read-inside", json!({})).good(), "inside");
    client.run("write-inside", json!({"path": "/work/sub/new.txt"})).good();
    let written = fs::read_to_string(client.server.home.work().join("sub/new.txt")).unwrap();
    assert_eq!(written, "written by a guest");
    // A symlink that stays inside may be followed.
    std::os::unix::fs::symlink("inside.txt", client.server.home.work().join("inner-link")).unwrap();
    assert_eq!(client.run("read-inside", json!({"path": "/work/inner-link"})).good(), "inside");
}

#[test]
fn without_a_grant_there_is_no_filesystem() {
    let mut client = client(&(plugin("read-inside", "") + &plugin("write-inside", "")));
    let called = client.run("read-inside", json!({}));
    assert!(called.is_error(), "{}", called.result());
    for path in ["/work/new.txt", "new.txt", "/tmp/new.txt"] {
        assert!(client.run("write-inside", json!({"path": path})).is_error(), "{path}");
    }
    assert!(!client.server.home.work().join("new.txt").exists());
}
