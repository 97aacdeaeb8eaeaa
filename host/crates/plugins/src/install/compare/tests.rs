//! Which updates are installed without consent, and which wait.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use super::*;
use crate::offer::definitions_digest;
use crate::offer::testing::{mutations, offer};
use crate::package::Claims;
use policy::Digest;
use std::time::UNIX_EPOCH;

const BASE: &str = r#"
    filesystem = "read"
    http = ["GET,POST https://api.example.com/v1/", "https://*.example.org"]
    agent-tools = ["notes.*"]
    events = ["policy.*"]
    env = ["TZ"]
    secrets = ["key"]
    connections = ["github"]
    client = { form = true }"#;

fn version() -> PluginVersion {
    PluginVersion {
        version: Some("1.2.0".into()),
        digest: Digest::sha256(b"one"),
        size: 100,
        resolved: "file:/a.wasm".into(),
        reference: None,
        signer: Some("minisign:ab".into()),
        fetched: UNIX_EPOCH,
        definitions: Digest::sha256(b"definitions"),
        imports: ["portcullis:plugin/log@0.1.0", "wasi:http/types@0.2.3", "wasi:io/poll@0.2.3"]
            .map(String::from)
            .into(),
        requests: toml::from_str(BASE).unwrap(),
        claims: Claims::default(),
        published_claims: Claims::default(),
    }
}

/// The next version, with one thing changed.
fn upgraded(change: impl FnOnce(&mut PluginVersion)) -> UpdateVerdict {
    let old = version();
    let mut new = PluginVersion { version: Some("1.3.0".into()), digest: Digest::sha256(b"two"), ..version() };
    change(&mut new);
    judge_update(Some("1.2.0"), &old, &new)
}

fn with(requests: &str) -> UpdateVerdict {
    upgraded(|new| new.requests = toml::from_str(requests).unwrap())
}

/// The base requests with one text replaced.
fn replaced(from: &str, to: &str) -> UpdateVerdict {
    assert!(BASE.contains(from), "{from}");
    with(&BASE.replace(from, to))
}

fn kind(verdict: &UpdateVerdict) -> &'static str {
    match verdict {
        UpdateVerdict::Install(_) => "install",
        UpdateVerdict::Stage(_) => "stage",
        UpdateVerdict::Downgrade { .. } => "downgrade",
    }
}

#[test]
fn updates_are_installed_staged_or_refused() {
    let more = |line: &str| with(&format!("{BASE}\n{line}"));
    let table: Vec<(&str, UpdateVerdict, &str)> = vec![
        ("only the bytes", upgraded(|_| {}), "install"),
        ("the same version, other bytes", upgraded(|new| new.version = Some("1.2.0".into())), "stage"),
        ("nothing is asked for any more", with(""), "install"),
        ("a path below", replaced("/v1/", "/v1/users/"), "install"),
        ("a method less", replaced("GET,POST ", "GET "), "install"),
        ("one name of a group", replaced("*.example.org", "a.example.org"), "install"),
        ("one tool of a pattern", replaced("notes.*", "notes.add"), "install"),
        ("one event of a pattern", replaced("policy.*", "policy.effective"), "install"),
        ("an import less", upgraded(|new| drop(new.imports.pop())), "install"),
        ("a compatible import", upgraded(|new| new.imports[2] = "wasi:io/poll@0.2.6".into()), "install"),
        ("write besides read", replaced("\"read\"", "\"write\""), "stage"),
        ("another host", replaced("api.example.com", "api.example.net"), "stage"),
        (
            "a host that only looks like the old one",
            replaced("api.example.com", "api.example.com.evil.example"),
            "stage",
        ),
        ("a path above", replaced("/v1/", "/"), "stage"),
        ("a path beside", replaced("/v1/", "/v2/"), "stage"),
        ("a method more", replaced("GET,POST ", "GET,POST,DELETE "), "stage"),
        ("without TLS", replaced("https://*", "http://*"), "stage"),
        ("another port", replaced("api.example.com", "api.example.com:8443"), "stage"),
        ("any host", replaced("*.example.org", "*"), "stage"),
        ("tools of another plugin", replaced("notes.*", "calendar.*"), "stage"),
        ("a wider pattern", replaced("notes.*", "n*.*"), "stage"),
        ("a variable more", replaced("[\"TZ\"]", "[\"TZ\", \"HOME\"]"), "stage"),
        ("another secret", replaced("[\"key\"]", "[\"other\"]"), "stage"),
        ("another account", replaced("[\"github\"]", "[\"github\", \"gitlab\"]"), "stage"),
        ("pages besides forms", replaced("{ form = true }", "{ form = true, url = true }"), "stage"),
        ("values to keep", more("state = true"), "stage"),
        ("files to keep", more("scratch = true"), "stage"),
        ("to publish", more("publish = true"), "stage"),
        (
            "unsigned as before",
            judge_update(
                None,
                &PluginVersion { signer: None, ..version() },
                &PluginVersion {
                    version: Some("1.3.0".into()),
                    digest: Digest::sha256(b"two"),
                    signer: None,
                    ..version()
                },
            ),
            "stage",
        ),
        (
            "the version that was rolled back",
            judge_update(
                Some("1.3.0"),
                &version(),
                &PluginVersion { version: Some("1.3.0".into()), digest: Digest::sha256(b"two"), ..version() },
            ),
            "stage",
        ),
        ("another key", upgraded(|new| new.signer = Some("minisign:cd".into())), "stage"),
        ("no signer any more", upgraded(|new| new.signer = None), "stage"),
        ("a changed description", upgraded(|new| new.definitions = Digest::sha256(b"other")), "stage"),
        ("an import more", upgraded(|new| new.imports.push("wasi:sockets/tcp@0.2.3".into())), "stage"),
        ("an import of another generation", upgraded(|new| new.imports[2] = "wasi:io/poll@0.3.0".into()), "stage"),
        ("no version any more", upgraded(|new| new.version = None), "stage"),
        ("a version that means nothing", upgraded(|new| new.version = Some("latest".into())), "stage"),
        ("a lower version", upgraded(|new| new.version = Some("1.1.9".into())), "downgrade"),
        ("what came before the release", upgraded(|new| new.version = Some("1.2.0-rc.1".into())), "downgrade"),
    ];
    assert!(table.len() >= 25);
    let mut right = 0;
    for (what, verdict, expected) in &table {
        assert_eq!(kind(verdict), *expected, "{what}: {verdict:?}");
        right += 1;
    }
    eprintln!("hostile: upgrades: {right} of {} taken, staged or refused as they should", table.len());
}

/// A signed, higher version whose statements about itself differ from what was agreed to.
#[test]
fn each_mutation_of_the_definitions_is_held_back() {
    let agreed = PluginVersion { definitions: definitions_digest(&offer()), ..version() };
    let update = |definitions| PluginVersion {
        version: Some("1.3.0".into()),
        digest: Digest::sha256(b"two"),
        definitions,
        ..version()
    };
    assert_eq!(kind(&judge_update(Some("1.2.0"), &agreed, &update(definitions_digest(&offer())))), "install");
    let mut held_back = 0;
    for (what, mutate) in mutations() {
        let mut mutated = offer();
        mutate(&mut mutated);
        let verdict = judge_update(Some("1.2.0"), &agreed, &update(definitions_digest(&mutated)));
        assert_eq!(kind(&verdict), "stage", "{what}");
        held_back += 1;
    }
    eprintln!("hostile: mutations: {held_back} of {} held back", mutations().len());
    assert!(held_back >= 12);
}

#[test]
fn without_a_signer_all_other_bytes_wait() {
    let unsigned = |number: &str| PluginVersion { version: Some(number.into()), signer: None, ..version() };
    for number in ["1.2.0", "1.3.0"] {
        let new = PluginVersion { digest: Digest::sha256(b"two"), ..unsigned(number) };
        assert_eq!(kind(&judge_update(Some("1.2.0"), &unsigned("1.2.0"), &new)), "stage", "{number}");
        let signed = PluginVersion { signer: Some("minisign:ab".into()), ..new };
        assert_eq!(kind(&judge_update(Some("1.2.0"), &unsigned("1.2.0"), &signed)), "stage", "{number}");
    }
}

#[test]
fn the_lines_name_the_differences() {
    let UpdateVerdict::Stage(changes) = replaced("GET,POST https://api.example.com/v1/", "https://b.example/") else {
        panic!("it should be staged")
    };
    let lines: Vec<_> = changes.iter().map(|change| change.line.as_str()).collect();
    assert!(lines[0].starts_with("version 1.2.0 -> 1.3.0"), "{lines:?}");
    assert!(lines.iter().any(|line| line.starts_with("+ http https://b.example/: sends any data")), "{lines:?}");
    assert!(lines.contains(&"- http GET,POST https://api.example.com/v1/"), "{lines:?}");
    assert!(changes.iter().filter(|change| change.needs_consent).count() == 1, "{changes:?}");
}
