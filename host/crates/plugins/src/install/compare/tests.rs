//! Upgrades: which come in by themselves, and which wait.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use super::*;
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

fn version() -> Version {
    Version {
        version: Some("1.2.0".into()),
        digest: Digest::of(b"one"),
        size: 100,
        resolved: "file:/a.wasm".into(),
        signer: Some("minisign:ab".into()),
        fetched: UNIX_EPOCH,
        definitions: Digest::of(b"definitions"),
        imports: ["portcullis:plugin/log@0.1.0", "wasi:http/types@0.2.3", "wasi:io/poll@0.2.3"]
            .map(String::from)
            .into(),
        requests: toml::from_str(BASE).unwrap(),
        claims: Claims::default(),
        published_claims: Claims::default(),
    }
}

/// The next version, with one thing changed.
fn upgraded(change: impl FnOnce(&mut Version)) -> Verdict {
    let old = version();
    let mut new = Version { version: Some("1.3.0".into()), digest: Digest::of(b"two"), ..version() };
    change(&mut new);
    judge(Some("1.2.0"), &old, &new)
}

fn with(requests: &str) -> Verdict {
    upgraded(|new| new.requests = toml::from_str(requests).unwrap())
}

/// The base with one text for another.
fn base(from: &str, to: &str) -> Verdict {
    assert!(BASE.contains(from), "{from}");
    with(&BASE.replace(from, to))
}

fn word(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Swap(_) => "swap",
        Verdict::Stage(_) => "stage",
        Verdict::Lower { .. } => "lower",
    }
}

#[test]
fn upgrades_are_told_apart() {
    let more = |line: &str| with(&format!("{BASE}\n{line}"));
    let table: Vec<(&str, Verdict, &str)> = vec![
        ("only the bytes", upgraded(|_| {}), "swap"),
        ("the same version, other bytes", upgraded(|new| new.version = Some("1.2.0".into())), "swap"),
        ("nothing is asked for any more", with(""), "swap"),
        ("a path below", base("/v1/", "/v1/users/"), "swap"),
        ("a method less", base("GET,POST ", "GET "), "swap"),
        ("one name of a group", base("*.example.org", "a.example.org"), "swap"),
        ("one tool of a pattern", base("notes.*", "notes.add"), "swap"),
        ("one event of a pattern", base("policy.*", "policy.effective"), "swap"),
        ("an import less", upgraded(|new| drop(new.imports.pop())), "swap"),
        ("a compatible import", upgraded(|new| new.imports[2] = "wasi:io/poll@0.2.6".into()), "swap"),
        ("write besides read", base("\"read\"", "\"write\""), "stage"),
        ("another host", base("api.example.com", "api.example.net"), "stage"),
        ("a host that only looks like the old one", base("api.example.com", "api.example.com.evil.example"), "stage"),
        ("a path above", base("/v1/", "/"), "stage"),
        ("a path beside", base("/v1/", "/v2/"), "stage"),
        ("a method more", base("GET,POST ", "GET,POST,DELETE "), "stage"),
        ("without TLS", base("https://*", "http://*"), "stage"),
        ("another port", base("api.example.com", "api.example.com:8443"), "stage"),
        ("any host", base("*.example.org", "*"), "stage"),
        ("tools of another plugin", base("notes.*", "calendar.*"), "stage"),
        ("a wider pattern", base("notes.*", "n*.*"), "stage"),
        ("a variable more", base("[\"TZ\"]", "[\"TZ\", \"HOME\"]"), "stage"),
        ("another secret", base("[\"key\"]", "[\"other\"]"), "stage"),
        ("another account", base("[\"github\"]", "[\"github\", \"gitlab\"]"), "stage"),
        ("pages besides forms", base("{ form = true }", "{ form = true, url = true }"), "stage"),
        ("values to keep", more("state = true"), "stage"),
        ("files to keep", more("scratch = true"), "stage"),
        ("to publish", more("publish = true"), "stage"),
        ("another key", upgraded(|new| new.signer = Some("minisign:cd".into())), "stage"),
        ("no signer any more", upgraded(|new| new.signer = None), "stage"),
        ("a changed description", upgraded(|new| new.definitions = Digest::of(b"other")), "stage"),
        ("an import more", upgraded(|new| new.imports.push("wasi:sockets/tcp@0.2.3".into())), "stage"),
        ("an import of another generation", upgraded(|new| new.imports[2] = "wasi:io/poll@0.3.0".into()), "stage"),
        ("no version any more", upgraded(|new| new.version = None), "stage"),
        ("a version that means nothing", upgraded(|new| new.version = Some("latest".into())), "stage"),
        ("a lower version", upgraded(|new| new.version = Some("1.1.9".into())), "lower"),
        ("what came before the release", upgraded(|new| new.version = Some("1.2.0-rc.1".into())), "lower"),
    ];
    assert!(table.len() >= 25);
    let mut right = 0;
    for (what, verdict, expected) in &table {
        assert_eq!(word(verdict), *expected, "{what}: {verdict:?}");
        right += 1;
    }
    eprintln!("hostile: upgrades: {right} of {} taken, staged or refused as they should", table.len());
}

#[test]
fn whoever_was_not_signed_and_is_not_is_the_same() {
    let unsigned = |version: Version| Version { signer: None, ..version };
    let (old, new) = (unsigned(version()), Version { digest: Digest::of(b"two"), ..unsigned(version()) });
    assert_eq!(word(&judge(None, &old, &new)), "swap");
    assert_eq!(word(&judge(None, &old, &Version { signer: Some("minisign:ab".into()), ..new })), "stage");
}

#[test]
fn the_lines_say_what_is_new() {
    let Verdict::Stage(changes) = base("GET,POST https://api.example.com/v1/", "https://b.example/") else {
        panic!("it was to wait")
    };
    let lines: Vec<_> = changes.iter().map(|change| change.line.as_str()).collect();
    assert!(lines[0].starts_with("version 1.2.0 -> 1.3.0"), "{lines:?}");
    assert!(lines.iter().any(|line| line.starts_with("+ http https://b.example/: sends whatever")), "{lines:?}");
    assert!(lines.contains(&"- http GET,POST https://api.example.com/v1/"), "{lines:?}");
    assert!(changes.iter().filter(|change| change.needs_consent).count() == 1, "{changes:?}");
}
