//! What a person at a terminal is shown and asked before a plugin is installed, updated or removed;
//! `clients/installing.py` plays the person.

use crate::install::rewritten;
use crate::reload::edition;
use serde_json::json;
use std::process::Command;
use suite::registry::Registry;
use suite::{Home, paths};

const LICENCE: &str = "MIT\u{1b}[2J\u{202e}";

/// The component with one more custom section.
fn with(bytes: Vec<u8>, name: &str, text: &str) -> Vec<u8> {
    let body = [&[u8::try_from(name.len()).unwrap()], name.as_bytes(), text.as_bytes()].concat();
    let size = u8::try_from(body.len()).unwrap();
    assert!(size < 128, "one byte says how long it is");
    [bytes, vec![0, size], body].concat()
}

fn claiming(bytes: Vec<u8>, licence: &str) -> Vec<u8> {
    with(with(bytes, "licenses", licence), "source", "https://forge.example/edition")
}

#[test]
fn a_person_is_shown_everything_and_asked_what_to_grant() {
    let home = Home::new();
    // A version number with a right-to-left override, and text that addresses models.
    let mirrored = |bytes| rewritten(bytes, r#""0.1.0""#, "\"0\u{202e}1\"");
    let odd = |bytes| rewritten(bytes, "tool=A", "<|im|>");
    let first = claiming(odd(mirrored(edition("AAAA"))), LICENCE);
    home.write("first.wasm", &first);
    home.write("published.wasm", claiming(edition("AAAA"), LICENCE));
    home.write("second.wasm", claiming(odd(edition("BAAA")), "GPL-3.0-only"));
    home.write("many.wasm", std::fs::read(paths::guest("many-things")).unwrap());
    let registry = Registry::default();
    let mut manifest = registry.manifest(&first);
    manifest["annotations"] = json!({
        "org.opencontainers.image.licenses": "\u{9b}31mfree",
        "org.opencontainers.image.source": "https://elsewhere.example",
        "org.opencontainers.image.authors": "x".repeat(5_000),
        "org.opencontainers.image.ref.name": "not shown",
    });
    registry.publish("acme/edition", "1.0.0", &manifest);
    manifest["layers"][0]["mediaType"] = json!("application/\u{1b}]0;pwned\u{7}\u{202e}wasm");
    registry.publish("acme/lying", "1.0.0", &manifest);
    home.write("portcullis.toml", "[server]\nstate = \"state\"\n");
    let mut command = Command::new(paths::python());
    command.arg("-B").arg(paths::client_script("installing.py")).arg(paths::binary());
    command.arg(registry.reference("acme/edition:1.0.0")).arg(registry.reference("acme/lying:1.0.0"));
    command.current_dir(home.path()).env("PORTCULLIS_CACHE", paths::cache());
    assert!(suite::cli::run(command).good().contains("all was as it should be"));
}

#[test]
fn the_demo_of_an_installation_ends_as_it_should() {
    let home = Home::new();
    let mut command = Command::new(paths::python());
    command
        .arg("-B")
        .arg(paths::client_script("demo_install.py"))
        .arg(paths::binary())
        .arg(paths::real_plugin("files"));
    command.current_dir(home.path()).env("PORTCULLIS_CACHE", paths::cache()).env("PYTHONIOENCODING", "utf-8");
    suite::cli::run(command).good();
}
