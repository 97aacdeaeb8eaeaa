//! Files that a guest opens and does not close, and files whose opening would wait for ever.

use serde_json::json;
use std::os::unix::net::UnixListener;
use std::process::Command;
use suite::{Client, Home, Server, plugin};

const READ: &str = r#"grants.filesystem = [{ host = "work", guest = "/work", access = "read" }]"#;

fn client(home: Home, config: &str) -> Client {
    Client::of_server(Server::measurable(home, config, &[], |_| {}))
}

#[test]
fn a_call_opens_as_many_files_as_it_may() {
    let config = plugin("open-files", &format!("{READ}\nlimits.open-files = 10")) + &plugin("echo", "");
    let mut client = client(Home::new(), &config);
    client.run("open-files", json!({"n": 8})).good();
    let called = client.run("open-files", json!({}));
    // The granted folder is one of the ten.
    assert!(called.is_error() && called.text().contains("9: "), "{}", called.result());
    println!("hostile: open files: 10 of 10 that a call may open, and no more: {}", called.text());
    client.server.wait_for_log("limits.open-files under [plugins.open-files] sets how many");
    client.run("open-files", json!({"n": 8})).good();
    client.check_alive();
}

#[test]
fn listings_are_read_piece_by_piece() {
    let home = Home::new();
    let folder = home.work().join("many");
    std::fs::create_dir_all(folder.join("inner")).unwrap();
    for number in 0..12_000 {
        std::fs::write(folder.join(format!("{number:05}-{}", "x".repeat(200))), "").unwrap();
    }
    let config = plugin("open-listings", &format!("{READ}\nlimits.memory = \"32 MiB\"")) + &plugin("echo", "");
    let mut client = client(home, &config);
    client.check_alive();
    let names = client.run("open-listings", json!({"n": 0, "path": "/work/many"})).good();
    let names: Vec<&str> = names.split(' ').collect();
    assert_eq!((names.len(), names[0].get(..6), names.last()), (12_001, Some("00000-"), Some(&"inner/")));
    let (called, grown) = client.measured(|client| client.run("open-listings", json!({"path": "/work/many"})));
    assert!(called.is_error(), "{}", called.result());
    assert!(grown < 64 << 20, "the host held {} MiB of listings", grown >> 20);
}

#[test]
fn pipes_and_sockets_are_not_opened() {
    let home = Home::new();
    let pipe = home.work().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let _socket = UnixListener::bind(home.work().join("socket")).unwrap();
    let config = plugin("open-files", &format!("{READ}\nlimits.deadline = \"3s\"")) + &plugin("echo", "");
    let mut client = client(home, &config);
    for name in ["pipe", "socket"] {
        // Opening the pipe would wait until somebody writes to it.
        let called = client.run("open-files", json!({"n": 1, "path": format!("/work/{name}")}));
        assert!(called.is_error() && called.text().starts_with("0: "), "{name}: {}", called.result());
    }
    client.check_alive();
}
