//! The tools on real folders, through the fake host.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::path::Path;

use portcullis_guest::testing::Host;
use portcullis_guest::{ContentData, ResourceBody, ToolError, ToolResult};
use serde_json::{Value, json};

use crate::files::PLUGIN;

/// A granted folder with a few files.
struct Granted {
    host: Host,
    folder: tempfile::TempDir,
}

impl Granted {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let host = Host::new().folder(folder.path());
        let granted = Self { host, folder };
        granted.put("a.txt", b"one\ntwo\nthree\n");
        granted.put("sub/b.rs", b"fn two() {}\r\n// TODO two\n");
        granted.put("sub/c.bin", b"two\0\xff");
        granted.put(".git/config", b"two");
        granted.put("target/x.txt", b"two");
        granted
    }

    fn put(&self, name: &str, bytes: &[u8]) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    fn call(&self, tool: &str, arguments: Value) -> Result<ToolResult, ToolError> {
        self.host.call(&PLUGIN, tool, arguments)
    }

    fn json(&self, tool: &str, arguments: Value) -> Value {
        serde_json::from_str(&self.call(tool, arguments).unwrap().structured.unwrap()).unwrap()
    }

    fn read(&self, arguments: Value) -> Vec<String> {
        let content = self.call("read", arguments).unwrap().content;
        content.iter().map(|content| content.as_text().unwrap().to_owned()).collect()
    }

    fn failure(&self, tool: &str, arguments: Value) -> String {
        self.call(tool, arguments).unwrap_err().to_string()
    }
}

#[test]
fn lists_sorted_with_sizes() {
    let granted = Granted::new();
    let listing = granted.json("list", json!({ "path": "." }));
    assert_eq!(
        listing["entries"],
        json!([{ "name": ".git", "kind": "folder" }, { "name": "a.txt", "kind": "file", "size": 14 }, { "name": "sub", "kind": "folder" }, { "name": "target", "kind": "folder" }])
    );
    assert_eq!(listing, granted.json("list", json!({})), "one granted folder is the default");
    assert!(granted.failure("list", json!({ "path": "nowhere" })).contains("does not exist"));
    assert!(granted.failure("list", json!({ "path": "a.txt" })).contains("is not a folder"));
}

#[test]
fn without_a_grant_everything_is_denied() {
    let host = Host::new();
    for (tool, arguments) in [
        ("list", json!({})),
        ("search", json!({ "pattern": "x" })),
        ("read", json!({ "path": "x" })),
        ("write", json!({ "path": "x", "text": "" })),
    ] {
        let denied = host.call(&PLUGIN, tool, arguments).unwrap_err();
        assert!(matches!(denied, ToolError::Denied(denial) if denial.capability == "filesystem"), "{tool}");
    }
}

#[test]
fn escapes_are_denied_with_the_path() {
    let granted = Granted::new();
    for path in ["../../etc/passwd", "/etc/passwd", "sub/../../x"] {
        for (tool, arguments) in [
            ("read", json!({ "path": path })),
            ("list", json!({ "path": path })),
            ("write", json!({ "path": path, "text": "" })),
        ] {
            let denied = granted.call(tool, arguments).unwrap_err();
            assert!(matches!(denied, ToolError::Denied(denial) if denial.target == path), "{tool} {path}");
        }
    }
}

#[test]
fn reads_ranges_of_lines() {
    let granted = Granted::new();
    assert_eq!(granted.read(json!({ "path": "a.txt" })), ["one\ntwo\nthree\n"]);
    assert_eq!(
        granted.read(json!({ "path": "a.txt", "start_line": 2, "lines": 1 })),
        ["two\n", "[Lines 2 to 2; more follows, read on with start_line = 3.]"]
    );
    assert_eq!(granted.read(json!({ "path": "a.txt", "start_line": 3 })), ["three\n"]);
    assert!(granted.failure("read", json!({ "path": "a.txt", "start_line": 4 })).contains("has only 3 lines"));
    assert!(granted.failure("read", json!({ "path": "a.txt", "lines": 1, "offset": 0 })).contains("not both"));
    assert!(granted.failure("read", json!({ "path": "sub" })).contains("use list"));

    granted.put("long.txt", "x\n".repeat(3_000).as_bytes());
    let content = granted.read(json!({ "path": "long.txt" }));
    assert_eq!(content[0].lines().count(), 2_000);
    assert!(content[1].contains("start_line = 2001"));

    granted.put("wide.txt", "x".repeat(300 * 1024).as_bytes());
    assert!(granted.failure("read", json!({ "path": "wide.txt" })).contains("read it by offset"));
}

#[test]
fn reads_ranges_of_bytes_without_cutting_characters() {
    let granted = Granted::new();
    granted.put("utf8.txt", "a\u{e9}b".as_bytes());
    let content = granted.read(json!({ "path": "utf8.txt", "offset": 0, "bytes": 2 }));
    assert_eq!(content, ["a", "[Bytes 0 to 1 of 4; read on with offset = 1.]"]);
    assert_eq!(granted.read(json!({ "path": "utf8.txt", "offset": 1 })), ["\u{e9}b"]);
}

#[test]
fn binary_files_come_as_bytes_and_images_as_images() {
    let granted = Granted::new();
    let content = granted.call("read", json!({ "path": "sub/c.bin" })).unwrap().content;
    assert!(
        matches!(&content[0].data, ContentData::Resource(resource) if resource.body == ResourceBody::Blob(b"two\0\xff".to_vec()))
    );
    granted.put("dot.PNG", b"\x89PNG\r\n");
    let content = granted.call("read", json!({ "path": "dot.PNG" })).unwrap().content;
    assert!(
        matches!(&content[0].data, ContentData::Image(image) if image.mime_type == "image/png" && image.data.len() == 6)
    );
}

#[test]
fn searches_and_streams_file_by_file() {
    let granted = Granted::new();
    let found = granted.json("search", json!({ "pattern": r"\btwo\b" }));
    let lines: Vec<_> = found["matches"]
        .as_array()
        .unwrap()
        .iter()
        .map(|m| (m["line"].as_u64().unwrap(), m["text"].as_str().unwrap()))
        .collect();
    assert_eq!(lines, [(2, "two"), (1, "fn two() {}"), (2, "// TODO two")]);
    assert_eq!((&found["files_searched"], &found["files_skipped"]), (&json!(2), &json!(1)));
    let b = granted.path("sub/b.rs").display().to_string();
    assert_eq!(granted.host.chunk_texts()[1], format!("{b}:1: fn two() {{}}\n{b}:2: // TODO two\n"));
}

#[test]
fn search_options_narrow_it() {
    let granted = Granted::new();
    let count = |arguments: Value| granted.json("search", arguments)["matches"].as_array().unwrap().len();
    assert_eq!(count(json!({ "pattern": "TWO" })), 0);
    assert_eq!(count(json!({ "pattern": "TWO", "ignore_case": true })), 3);
    assert_eq!(count(json!({ "pattern": "two", "suffix": ".rs" })), 2);
    assert_eq!(count(json!({ "pattern": "two", "path": "a.txt" })), 1);
    assert_eq!(count(json!({ "pattern": "two", "path": "target" })), 1, "skipped unless named");
    assert_eq!(count(json!({ "pattern": "^$", "path": "a.txt" })), 0, "the end of the text is not a line");
    assert_eq!(count(json!({ "pattern": "^", "path": "a.txt" })), 3);
    let found = granted.json("search", json!({ "pattern": "two", "max_matches": 2 }));
    assert_eq!((found["matches"].as_array().unwrap().len(), &found["stopped"]), (2, &json!("matches")));
    assert!(granted.failure("search", json!({ "pattern": "(" })).contains("pattern: "));
    assert!(granted.failure("search", json!({ "pattern": "x", "path": "nowhere" })).contains("does not exist"));
}

#[test]
fn long_lines_are_cut() {
    let granted = Granted::new();
    granted.put("long.txt", format!("needle{}", "\u{e9}".repeat(500)).as_bytes());
    let found = granted.json("search", json!({ "pattern": "needle", "path": "long.txt" }));
    let text = found["matches"][0]["text"].as_str().unwrap();
    assert!(text.ends_with("\u{e9} ...") && text.len() < 310, "{text}");
}

#[test]
fn a_full_output_ends_the_search_with_a_typed_error() {
    let granted = Granted::new();
    let host = Host::new().folder(granted.folder.path()).chunk_limit(1);
    let error = host.call(&PLUGIN, "search", json!({ "pattern": "two" })).unwrap_err();
    assert!(matches!(error, ToolError::Exhausted(exhaustion) if exhaustion.limit == 1));
    host.close_output();
    assert_eq!(host.call(&PLUGIN, "search", json!({ "pattern": "two" })).unwrap_err(), ToolError::Cancelled);
}

#[test]
fn writes_in_every_mode() {
    let granted = Granted::new();
    let text = |name: &str| fs::read_to_string(granted.path(name)).unwrap();
    assert_eq!(granted.json("write", json!({ "path": "new/deep/d.txt", "text": "one" }))["bytes"], 3);
    assert!(granted.failure("write", json!({ "path": "new/deep/d.txt", "text": "two" })).contains("exists; use mode"));
    assert_eq!(text("new/deep/d.txt"), "one");
    granted.json("write", json!({ "path": "new/deep/d.txt", "text": " and", "mode": "append" }));
    assert_eq!(text("new/deep/d.txt"), "one and");
    granted.json("write", json!({ "path": "new/deep/d.txt", "text": "two", "mode": "replace" }));
    assert_eq!(text("new/deep/d.txt"), "two");
    assert_eq!(names(&granted.path("new/deep")), ["d.txt"], "nothing is left beside it");
    assert!(granted.failure("write", json!({ "path": "sub", "text": "", "mode": "replace" })).contains("is a folder"));
}

fn names(folder: &Path) -> Vec<String> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}
