//! The tools on real folders, through the fake host.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use portcullis_guest::ToolError;
use portcullis_guest::testing::Host;
use serde_json::{Value, json};

use crate::note::Note;
use crate::notes::PLUGIN;

fn call(host: &Host, tool: &str, arguments: Value) -> Value {
    serde_json::from_str(&host.call(&PLUGIN, tool, arguments).unwrap().structured.unwrap()).unwrap()
}

fn granted(folder: &Path) -> Host {
    Host::new().folder(folder)
}

#[test]
fn adds_a_readable_file() {
    let folder = tempfile::tempdir().unwrap();
    let host = granted(folder.path());
    let saved =
        call(&host, "add", json!({ "title": "What I saw:  ../etc\n", "text": "Much.\n", "tags": ["a", "b, c"] }));
    let id = saved["id"].as_str().unwrap();
    assert!(id.ends_with("-what-i-saw-etc"), "{id}");
    let path = Path::new(saved["path"].as_str().unwrap());
    assert_eq!(path, folder.path().join(format!("{id}.md")));
    assert_eq!(fs::read_to_string(path).unwrap(), "# What I saw: ../etc\n\nTags: a, b c\n\nMuch.\n");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
}

#[test]
fn concurrent_notes_of_one_title_all_survive() {
    let folder = tempfile::tempdir().unwrap();
    let ids: HashSet<String> = std::thread::scope(|scope| {
        let add = |n: usize| {
            let host = granted(folder.path());
            let saved = call(&host, "add", json!({ "title": "Same", "text": n.to_string() }));
            saved["id"].as_str().unwrap().to_owned()
        };
        let threads: Vec<_> = (0..16).map(|n| scope.spawn(move || add(n))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(ids.len(), 16);
    let found = call(&granted(folder.path()), "search", json!({ "query": "same", "limit": 100 }));
    let texts: HashSet<&str> =
        found["matches"].as_array().unwrap().iter().map(|m| m["excerpt"].as_str().unwrap()).collect();
    assert_eq!(texts.len(), 16);
}

#[test]
fn searches_title_tags_and_text() {
    let folder = tempfile::tempdir().unwrap();
    let host = granted(folder.path());
    call(&host, "add", json!({ "title": "Alpha", "text": "the quick fox", "tags": ["animals"] }));
    call(&host, "add", json!({ "title": "Beta", "text": "the lazy dog" }));
    fs::write(folder.path().join("other.md"), "not a note, the fox").unwrap();
    fs::write(folder.path().join("reserved.md"), "").unwrap();
    let titles = |query: &str| {
        let found = call(&host, "search", json!({ "query": query }));
        let matches = found["matches"].as_array().unwrap().clone();
        matches.iter().map(|m| m["title"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(titles("FOX quick"), ["Alpha"]);
    assert_eq!(titles("animals"), ["Alpha"]);
    assert_eq!(titles("the"), ["Beta", "Alpha"]);
    assert_eq!(titles(""), ["Beta", "Alpha"]);
    assert_eq!(titles("fox dog"), Vec::<String>::new());
    let found = call(&host, "search", json!({ "query": "the", "limit": 1 }));
    assert_eq!((found["matches"].as_array().unwrap().len(), &found["total"]), (1, &json!(2)));
}

#[test]
fn needs_a_folder_and_a_title() {
    let denied = Host::new().call(&PLUGIN, "add", json!({ "title": "a", "text": "" })).unwrap_err();
    assert!(
        matches!(denied, ToolError::Denied(denial) if denial.capability == "filesystem" && denial.target == "/notes")
    );
    let folder = tempfile::tempdir().unwrap();
    let empty = granted(folder.path()).call(&PLUGIN, "add", json!({ "title": " \n", "text": "" })).unwrap_err();
    assert_eq!(empty, ToolError::InvalidArguments("the title is empty".into()));
}

#[test]
fn slugs_are_safe_file_names() {
    let slug = |title: &str| Note::new(title, "", &[]).unwrap().slug();
    assert_eq!(slug("../../etc/passwd"), "etc-passwd");
    assert_eq!(slug("\u{4f60}\u{597d}"), "note");
    assert_eq!(slug("CON: a\\b?"), "con-a-b");
    assert_eq!(slug(&"long ".repeat(50)).len(), 59, "cut at 60, and no dash at the end");
}

#[test]
fn markdown_is_read_back() {
    for tags in [vec![], vec!["a".to_owned(), "b".to_owned()]] {
        let note = Note::new("Title", "Body\n\n# Not a title", &tags).unwrap();
        assert_eq!(Note::from_markdown(&note.to_markdown()), Some(note));
    }
    assert_eq!(Note::from_markdown(""), None);
}
