//! Translations of policies: what is granted, and what is reported about the rest.

use super::translation::Translation;
use crate::config::Config;
use std::path::Path;
use toml_edit::{DocumentMut, Item, Table};

const FOLDER: &str = "/srv";

fn translate(permissions: &str) -> Translation {
    Translation::new(&format!("version: '1.0'\npermissions:\n{permissions}"), Some(Path::new(FOLDER))).unwrap()
}

/// The grants and limits as the configuration has them, without line breaks.
fn table(translation: &Translation) -> String {
    let mut document = DocumentMut::new();
    let mut side = Table::new();
    side.insert("p", Item::Table(translation.table("p.wasm")));
    document.insert("plugins", Item::Table(side));
    let text = document.to_string();
    let config = Config::parse(&text, Path::new("portcullis.toml"), Path::new("/nowhere"));
    config.unwrap_or_else(|error| panic!("{error}: {text}"));
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn storage(allow: &[(&str, &str)], deny: &[(&str, &str)]) -> Translation {
    let entries = |list: &[(&str, &str)]| -> String {
        list.iter().map(|(uri, access)| format!("      - {{ uri: 'fs://{uri}', access: [{access}] }}\n")).collect()
    };
    let list = |key: &str, list| {
        if entries(list).is_empty() { String::new() } else { format!("    {key}:\n{}", entries(list)) }
    };
    translate(&format!("  storage:\n{}{}", list("allow", allow), list("deny", deny)))
}

#[test]
fn directories_are_granted_as_they_were_and_no_wider() {
    let found =
        storage(&[("/data/in", "read"), ("/data/out/**", "read, write"), ("notes", "read")], &[("/etc", "read")]);
    let text = table(&found);
    for part in [
        r#"{ host = "/data/in", guest = "/data/in", access = "read" }"#,
        r#"{ host = "/data/out", guest = "/data/out", access = "write" }"#,
        r#"{ host = "/srv/notes", guest = "/notes", access = "read" }"#,
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(found.remarks.left_out.is_empty(), "{:?}", found.remarks);
    assert!(found.remarks.notes[0].contains("`fs:///etc` needs no rule"), "{:?}", found.remarks);
    assert_eq!(toml::to_string(&found.requests()).unwrap(), "filesystem = \"write\"\n");
    for (uri, access, why) in [
        ("/", "read", "everything on this machine"),
        ("/data/*.log", "read", "it is a pattern"),
        ("/data/*", "read", "it is a pattern"),
        ("/data/../etc", "read", "has `.`, `..`"),
        ("//etc", "read", "has `.`, `..` or nothing"),
        ("/data", "write", "write without read"),
        ("/data", "", "it has no access"),
        ("/data", "execute", "access is `read` or `write`"),
        ("", "read", "it has no path"),
    ] {
        let found = storage(&[(uri, access)], &[]);
        let left_out = &found.remarks.left_out;
        assert!(
            left_out.len() == 1 && left_out[0].starts_with("line 5: ") && left_out[0].contains(why),
            "{uri}: {left_out:?}"
        );
        assert_eq!(found.requests(), Default::default(), "{uri}");
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    let found = storage(&[(&file.path().display().to_string(), "read")], &[]);
    assert!(found.remarks.left_out[0].contains("a single file"), "{:?}", found.remarks);
    let relative = "version: '1'\npermissions:\n  storage:\n    allow: [{ uri: 'fs://notes', access: [read] }]";
    let found = Translation::new(relative, None).unwrap();
    assert!(found.remarks.left_out[0].contains("--folder"), "{:?}", found.remarks);
}

#[test]
fn what_a_policy_denies_is_not_granted() {
    for (deny, access, denied) in [
        ("/data", "read", true),
        ("/data/secret/**", "read", true),
        ("/data/*.key", "read", true),
        ("/**", "read", true),
        ("/data", "write", false),
        ("/database", "read", false),
    ] {
        let found = storage(&[("/data", "read")], &[(deny, access)]);
        assert_eq!(found.remarks.left_out.len(), usize::from(denied), "{deny}: {:?}", found.remarks);
        assert_eq!(found.requests().filesystem.is_none(), denied, "{deny}");
    }
    for (allow, deny, denied) in [
        ("host: a.example", "host: a.example", true),
        ("host: a.example", "host: '*.example'", true),
        ("host: a.example", "host: '*'", true),
        ("host: '*.b.example'", "host: a.b.example", true),
        ("host: a.example", "cidr: 0.0.0.0/0", true),
        ("host: a.example", "cidr: 203.0.113.0/24", true),
        ("host: a.example", "cidr: 169.254.0.0/16", false),
        ("host: localhost", "cidr: 127.0.0.0/8", true),
        ("host: a.example", "host: b.example", false),
        ("host: https://a.example/x", "host: a.example", true),
    ] {
        let found = translate(&format!("  network:\n    allow: [{{ {allow} }}]\n    deny: [{{ {deny} }}]\n"));
        assert_eq!(found.requests().http.is_empty(), denied, "{allow}, {deny}: {:?}", found.remarks);
        assert_eq!(found.remarks.left_out.len(), usize::from(denied), "{allow}, {deny}");
    }
}

#[test]
fn hosts_variables_and_memory_are_translated() {
    let found = translate(
        "  network:\n    allow:\n      - host: Api.Example.com\n      - host: '*.example.org'\n      - host: http://localhost:8080/v1/\n      - host: 10.0.0.7\n      - cidr: 10.0.0.0/8\n      - host: a b\n  environment:\n    allow: [{ key: TZ }, { key: API_KEY }, { key: PORTCULLIS_STATE }, { key: TZ }]\n  resources:\n    limits: { memory: 128Mi, cpu: 500m }\n    io: 5\n  ipc:\n    allow: [{ uri: 'pipe://x' }]\n  runtime: { docker: {} }\n  future: 1\n",
    );
    let text = table(&found);
    let all = "GET,HEAD,POST,PUT,PATCH,DELETE,OPTIONS";
    for part in [
        format!("{{ allow = \"{all} https://api.example.com\" }}"),
        format!("{{ allow = \"{all} https://*.example.org\" }}"),
        format!("{{ allow = \"{all} http://localhost:8080/v1/\", private = true }}"),
        format!("{{ allow = \"{all} https://10.0.0.7\", private = true }}"),
        "env = [\"TZ\"]".to_owned(),
        "memory = \"134217728 B\"".to_owned(),
    ] {
        assert!(text.contains(&part), "{part}: {text}");
    }
    let lines: Vec<_> = found.remarks.left_out.iter().map(|it| it.split(':').next().unwrap()).collect();
    assert_eq!(lines, ["line 9", "line 10", "line 12", "line 12", "line 17", "line 19"], "{:?}", found.remarks);
    assert_eq!(found.remarks.notes.len(), 4, "{:?}", found.remarks);
    let large = translate("  resources:\n    limits: { memory: 2Gi }\n");
    assert!(table(&large).contains("memory = \"268435456 B\"") && large.remarks.notes[0].contains("becomes"));
    let wrong = translate("  resources:\n    limits: { memory: much }\n");
    assert!(!table(&wrong).contains("memory") && wrong.remarks.left_out.len() == 1);
}

#[test]
fn a_policy_of_another_kind_is_refused() {
    let refused = |text: &str| Translation::new(text, None).err().unwrap_or_else(|| panic!("{text}"));
    assert!(refused("version: '2.0'").contains("line 1: only policies of version 1"));
    assert!(refused("permissions: {}").contains("it has no `version`"));
    assert!(refused("- a").contains("it has no `version`"));
    let empty = Translation::new("version: '1.0'\ndescription: \"a\\u0007\"\npermissions:\n", None).unwrap();
    assert_eq!((table(&empty).as_str(), empty.description), ("[plugins] [plugins.p] source = \"p.wasm\"", None));
}
