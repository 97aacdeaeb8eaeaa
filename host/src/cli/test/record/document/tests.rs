//! What is written is what is read.

use super::*;
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;

fn spec(grants: &str, limits: &str) -> PluginSpec {
    let id = policy::PluginId::new(policy::Side::Server, "notes").unwrap();
    PluginSpec {
        data: policy::DataKey::configured(&id),
        id,
        source: "/somewhere/notes.wasm".into(),
        digest: None,
        definitions: None,
        prefix: false,
        private: false,
        grants: toml::from_str(grants).unwrap(),
        idempotency: BTreeMap::new(),
        limits: Arc::new(toml::from_str(limits).unwrap()),
    }
}

fn call(text: &str) -> TestCall {
    toml_edit::de::from_str(text).unwrap()
}

const FULL: &str = r##"
tool = "run"
arguments = { z = "line 1\nline 2 \"quoted\" \\", a = [1, 2.5, true], m = {} }
client = ["form"]
answers = [{ form = { name = "Ada" } }, "decline", "cancel", "visit", { model = "Hm.\n" }]
tools = [{ name = "a.b", result = { id = 7 } }, { name = "a.b", error = "no", kind = "failed" }, { name = "c.d", structured = '{"a":null}', text = "x" }]
[[http]]
request = "GET https://a.example/x?y=z"
status = 404
headers = { content-type = "text/plain", "etag" = "\"1\"" }
body = "# not a comment\n[[call]]\n'''\n\"\"\"\n"
[[http]]
request = "GET https://a.example/bytes"
body-base64 = "AJ+Slg=="
"##;

#[test]
fn a_call_is_read_as_it_was_written() {
    let spec = spec("client = { form = true }", "fuel = 7");
    let mut document = new(&spec, Path::new("/tests")).unwrap();
    let nothing = call("tool = \"nothing\"\narguments = '{\"n\": null}'");
    for (at, call) in [call(FULL), nothing].into_iter().enumerate() {
        assert_eq!(add(&mut document, &call).unwrap(), at);
        let text = document.to_string();
        let read = TestTranscript::parse(&text, Path::new("/tests/a.toml"))
            .unwrap_or_else(|error| panic!("{error:#}: {text}"));
        assert_eq!(read.call[at], call, "{text}");
        check_same(&read, &spec, Path::new("/tests/a.toml")).unwrap();
    }
    let text = document.to_string();
    assert!(text.contains("[[call.http]]") && text.contains("[[call.tools]]"), "{text}");
}

#[test]
fn only_what_is_not_the_default_is_written() {
    let text = r#"
        filesystem = [{ host = "/project/work", guest = "/work", access = "read" }, { host = "/data", guest = "/data", access = "read" }]
        agent-tools = ["notes.*"]
        client = { form = true, sample = {} }
        http = [{ allow = "GET https://example.com" }, { allow = "https://b.example", requests = 3, private = false }]
        state = {}
    "#;
    let granted = spec(text, "memory = \"32 MiB\"");
    let document = new(&granted, Path::new("/project/tests")).unwrap().to_string();
    let expected = r#"plugin = "notes"

[grants]
filesystem = [{ host = "../work", guest = "/work", access = "read" }, { host = "/data", guest = "/data", access = "read" }]
http = [{ allow = "GET https://example.com" }, { allow = "https://b.example", requests = 3 }]
agent-tools = ["notes.*"]
client = { form = true, sample = { calls = 4, tokens = 2000, fallback = false } }
state = { size = "1 MiB", keys = 1000, private = [] }

[limits]
memory = "32 MiB"
"#;
    assert_eq!(document, expected);
    let mut whole: DocumentMut = document.parse().unwrap();
    add(&mut whole, &call("tool = \"run\"")).unwrap();
    let read = TestTranscript::parse(&whole.to_string(), Path::new("/project/tests/a.toml")).unwrap();
    check_same(&read, &granted, Path::new("a.toml")).unwrap();
    let more = spec("client = { form = true }", "");
    let told = check_same(&read, &more, Path::new("a.toml")).unwrap_err().to_string();
    assert!(told.contains("a.toml has other grants than the plugin `notes`"), "{told}");
    let slower = spec(text, "");
    assert!(check_same(&read, &slower, Path::new("a.toml")).unwrap_err().to_string().contains("other limits"));
    assert_eq!(new(&spec("", ""), Path::new("/")).unwrap().to_string(), "plugin = \"notes\"\n");
}

#[test]
fn a_call_is_added_after_the_others_and_comments_stay() {
    let before = "# Mine.\n[grants]\n\n[[call]] # the first\ntool = \"a\"\n[call.expect]\ntext = \"x\"\n";
    let mut document: DocumentMut = before.parse().unwrap();
    assert_eq!(add(&mut document, &call(FULL)).unwrap(), 1);
    let text = document.to_string();
    assert!(text.starts_with(before), "{text}");
    let read = TestTranscript::parse(&text, Path::new("/a.toml")).unwrap();
    assert_eq!((read.call.len(), &read.call[1]), (2, &call(FULL)));
    let mut inline: DocumentMut = "call = [{ tool = \"a\" }]".parse().unwrap();
    assert!(add(&mut inline, &call(FULL)).unwrap_err().to_string().contains("[[call]]"));
}

#[test]
fn what_toml_has_not_is_said() {
    let mut odd = call("tool = \"run\"");
    odd.answers = vec![serde_json::from_value(json!({"form": {"a": null}})).unwrap()];
    let error = add(&mut DocumentMut::new(), &odd).unwrap_err().to_string();
    assert!(error.contains("such as a null"), "{error}");
}

#[test]
fn every_text_is_looked_at() {
    let mut document = new(&spec("", ""), Path::new("/")).unwrap();
    add(&mut document, &call(FULL)).unwrap();
    let texts = texts(&document).unwrap();
    for text in ["line 1\nline 2 \"quoted\" \\", "Ada", "GET https://a.example/x?y=z", "content-type", "{\"a\":null}"] {
        assert!(texts.iter().any(|it| it == text), "{text}");
    }
}

#[test]
fn paths_are_relative_where_that_is_of_use() {
    for (path, folder, expected) in [
        ("/project/work", "/project/tests", "../work"),
        ("/project/tests/work", "/project/tests", "work"),
        ("/project/tests", "/project/tests", "."),
        ("/project/./a/../work", "/project/tests/", "../work"),
        ("/data/work", "/project/tests", "/data/work"),
        ("/", "/project", "/"),
    ] {
        let way = relative(Path::new(path), Path::new(folder));
        assert_eq!(way, Path::new(expected), "{path} {folder}");
    }
}
