//! The survey of real folders, through the fake host.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::path::Path;

use portcullis_guest::ToolError;
use portcullis_guest::agent_tools::AgentError;
use portcullis_guest::testing::{self, Host};
use serde_json::{Value, json};

use crate::survey::PLUGIN;

fn tree() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    };
    put("README.md", b"# Title\n\nTODO: write\nAUTODOC TODOS\nno newline");
    put("b/main.rs", b"fn main() {}\n// FIXME(x)\n");
    put("b/lib.rs", b"");
    put("b/data.bin", b"\0\n\n");
    put("a/deep/x.py", b"pass\n");
    put(".git/config", b"TODO\n");
    put("target/debug/y.rs", b"TODO\n");
    put("b/node_modules/z.js", b"TODO\n");
    put("b/huge.json", &vec![b'x'; 4 * 1024 * 1024 + 1]);
    folder
}

fn saving(folder: &Path) -> Host {
    Host::new().folder(folder).agent_tool("notes.add", |_| Ok(json!({ "id": "n1", "path": "/notes/n1.md" })))
}

fn survey(host: &Host, folder: &Path) -> Value {
    let result = host.call(&PLUGIN, "survey", json!({ "path": folder })).unwrap();
    serde_json::from_str(&result.structured.unwrap()).unwrap()
}

#[test]
fn counts_what_somebody_wrote() {
    let folder = tree();
    let host = saving(folder.path());
    let report = survey(&host, folder.path());
    assert_eq!(report["totals"], json!({ "files": 4, "lines": 8, "bytes": 75, "todos": 2 }));
    assert_eq!(
        report["languages"],
        json!([
            { "name": "Markdown", "files": 1, "lines": 5 },
            { "name": "Rust", "files": 2, "lines": 2 },
            { "name": "Python", "files": 1, "lines": 1 },
        ])
    );
    assert_eq!(report["skipped"], json!({ "binary": 1, "too_large": 1, "unreadable": 0 }));
    assert_eq!(report["note"], json!({ "status": "saved", "id": "n1", "path": "/notes/n1.md" }));
    let largest: Vec<&str> =
        report["largest"].as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap()).collect();
    let root = folder.path().display();
    assert_eq!(largest, ["README.md", "b/main.rs", "a/deep/x.py", "b/lib.rs"].map(|name| format!("{root}/{name}")));
    assert_eq!(report, survey(&saving(folder.path()), folder.path()), "the same tree gives the same report");
}

#[test]
fn streams_one_chunk_per_folder_and_reports_progress() {
    let folder = tree();
    let host = saving(folder.path());
    survey(&host, folder.path());
    let root = folder.path().display();
    assert_eq!(
        host.chunk_texts(),
        [
            format!("{root}: 1 file, 5 lines, 1 TODO\n  Markdown 5 lines\n  largest: README.md 0.0 KiB"),
            format!("{root}/a/deep: 1 file, 1 line, 0 TODOs\n  Python 1 line\n  largest: x.py 0.0 KiB"),
            format!(
                "{root}/b: 2 files, 2 lines, 1 TODO\n  Rust 2 lines\n  largest: main.rs 0.0 KiB, lib.rs 0.0 KiB\n  2 files not counted"
            ),
        ]
    );
    let progress: Vec<_> = host.progress().iter().map(|report| (report.done, report.total)).collect();
    assert_eq!(progress, [(1.0, Some(6.0)), (2.0, Some(6.0)), (6.0, Some(6.0))]);
}

#[test]
fn the_note_sums_it_up() {
    let folder = tree();
    let host = saving(folder.path());
    survey(&host, folder.path());
    let calls = host.agent_calls();
    assert_eq!(calls.len(), 1);
    assert_eq!(calls[0].arguments["title"], format!("Survey of {}", folder.path().display()));
    let text = calls[0].arguments["text"].as_str().unwrap();
    assert!(text.starts_with("4 files, 8 lines, 2 TODOs in 3 folders.\n\n| Language | Files | Lines |\n"), "{text}");
    assert!(text.contains("| Markdown | 1 | 5 |\n") && text.contains("Most TODOs:"), "{text}");
}

#[test]
fn without_the_note_the_report_is_complete() {
    let folder = tree();
    let reason = |host: Host| survey(&host, folder.path())["note"].clone();
    let denied = reason(Host::new().folder(folder.path()).deny_agent_tool("notes.add"));
    assert_eq!(denied["status"], "not-saved");
    assert!(denied["reason"].as_str().unwrap().contains("agent-tools does not allow `notes.add`"), "{denied}");
    let missing = reason(Host::new().folder(folder.path()));
    assert_eq!(missing["reason"], "there is no agent tool `notes.add`");
    let host = saving(folder.path());
    let result = host.call(&PLUGIN, "survey", json!({ "path": folder.path(), "note": false })).unwrap();
    assert!(result.structured.unwrap().contains(r#""note":{"status":"not-wanted"}"#));
    assert!(host.agent_calls().is_empty());
}

#[test]
fn a_cancelled_call_stops() {
    let folder = tree();
    let host = Host::new().folder(folder.path());
    host.close_output();
    let arguments = json!({ "path": folder.path() });
    assert_eq!(host.call(&PLUGIN, "survey", arguments.clone()).unwrap_err(), ToolError::Cancelled);
    let cancelled = |_: Value| Err::<Value, _>(AgentError::Cancelled);
    let host = Host::new().folder(folder.path()).agent_tool("notes.add", cancelled);
    assert_eq!(host.call(&PLUGIN, "survey", arguments).unwrap_err(), ToolError::Cancelled);
}

#[test]
fn a_used_up_budget_for_chunks_costs_only_chunks() {
    let folder = tree();
    let host = saving(folder.path()).chunk_limit(1);
    assert_eq!(survey(&host, folder.path())["totals"]["files"], 4);
    assert_eq!(host.chunks().len(), 1);
    assert!(host.log().iter().any(|record| record.message.starts_with("no more chunks")));
}

#[test]
fn other_folders_are_refused() {
    let folder = tree();
    let host = Host::new().folder(folder.path());
    let denied = host.call(&PLUGIN, "survey", json!({})).unwrap_err();
    assert!(
        matches!(denied, ToolError::Denied(denial) if denial.target == "/src"),
        "/src is the default and not granted"
    );
    let missing = host.call(&PLUGIN, "survey", json!({ "path": folder.path().join("none") })).unwrap_err();
    assert!(missing.to_string().contains("does not exist"));
}

#[test]
fn describes_itself() {
    let tool = testing::tool(&PLUGIN, "survey");
    let input: Value = serde_json::from_str(&tool.input_schema).unwrap();
    assert_eq!(input["properties"]["path"]["default"], "/src");
    let output: Value = serde_json::from_str(&tool.output_schema.unwrap()).unwrap();
    assert_eq!(output["properties"]["folders"]["items"]["properties"]["lines"]["type"], "integer");
    let manifest: Value = serde_json::from_str(PLUGIN.manifest()).unwrap();
    assert_eq!(manifest["requests"], json!({ "filesystem": "read", "agent-tools": ["notes.add"] }));
}
