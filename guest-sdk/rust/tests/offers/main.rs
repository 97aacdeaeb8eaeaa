//! Resources, templates, prompts and completions made of functions.
#![allow(clippy::unwrap_used, missing_docs, reason = "tests")]

use portcullis_guest::client::Answer;
use portcullis_guest::completion::Completion;
use portcullis_guest::testing::{self, Host};
use portcullis_guest::{ContentData, ReadError, ResourceBody, Role, ToolError};
use serde_json::{Value, json};

mod sample;

use sample::plugin::PLUGIN;

fn text(uri: &str) -> Result<String, ReadError> {
    match testing::read(&PLUGIN, uri)?.remove(0).body {
        ResourceBody::Text(text) => Ok(text),
        ResourceBody::Blob(data) => panic!("{uri} has {} bytes", data.len()),
    }
}

#[test]
fn requests_of_all_kinds() {
    let manifest: Value = serde_json::from_str(PLUGIN.manifest()).unwrap();
    assert_eq!(
        manifest["requests"],
        json!({
            "client": { "form": true, "url": true, "sample": true, "roots": true },
            "publish": true,
            "events": ["policy.*"],
            "connections": ["github"],
        })
    );
}

#[test]
fn generated_names_hide_nothing() {
    let arguments = json!({ "arguments": { "text": "a" } });
    assert_eq!(testing::call(&PLUGIN, "describe", arguments).unwrap().all_text(), "a");
    assert_eq!(testing::call(&PLUGIN, "call", json!({ "text": "b" })).unwrap().all_text(), "b");
}

#[test]
fn resources_are_described() {
    let resources = PLUGIN.list_resources();
    let uris: Vec<&str> = resources.iter().map(|resource| resource.uri.as_str()).collect();
    assert_eq!(uris, ["test://static-text", "test://static-binary", "test://reader", "test://broken"]);
    let read = &resources[0];
    assert_eq!((read.name.as_str(), read.title.as_deref(), read.size), ("read", Some("Text"), Some(5)));
    assert_eq!(read.description.as_deref(), Some("A text that never changes."));
    assert_eq!(read.mime_type.as_deref(), Some("text/plain"));
    let annotations = read.annotations.as_ref().unwrap();
    assert_eq!((annotations.audience.as_slice(), annotations.priority), ([Role::User].as_slice(), Some(0.5)));
    assert_eq!((resources[1].name.as_str(), &resources[1].annotations), ("binary", &None));
    let templates = PLUGIN.list_templates();
    assert_eq!((templates.len(), templates[0].uri_template.as_str()), (2, "test://template/{id}/data"));
    assert_eq!((templates[1].name.as_str(), templates[1].mime_type.as_deref()), ("page", Some("text/html")));
}

#[test]
fn resources_are_read() {
    let read = testing::read(&PLUGIN, "test://static-text").unwrap();
    assert_eq!((read[0].uri.as_str(), read[0].mime_type.as_deref()), ("test://static-text", Some("text/plain")));
    assert_eq!(text("test://static-text").as_deref(), Ok("hello"));
    let binary = testing::read(&PLUGIN, "test://static-binary").unwrap();
    assert_eq!((&binary[0].body, binary[0].mime_type.as_deref()), (&ResourceBody::Blob(vec![1, 2]), Some("image/png")));
    let reader = testing::read(&PLUGIN, "test://reader").unwrap();
    assert_eq!((reader[0].uri.as_str(), &reader[0].body), ("test://reader/name", &ResourceBody::Text("local".into())));
    assert_eq!(text("test://broken"), Err(ReadError::Failed(ToolError::failed("the disk is on fire"))));
    assert_eq!(text("test://none"), Err(ReadError::NotFound));
}

#[test]
fn templates_are_read() {
    let data = testing::read(&PLUGIN, "test://template/123/data").unwrap();
    assert_eq!(
        (data[0].uri.as_str(), &data[0].body),
        ("test://template/123/data", &ResourceBody::Text(r#"{"id":123}"#.into()))
    );
    assert_eq!(data[0].mime_type.as_deref(), Some("application/json"));
    for missing in ["test://template/99/data", "test://template/abc/data", "test://docs/secret.html", "test://docs/a"] {
        assert_eq!(text(missing), Err(ReadError::NotFound), "{missing}");
    }
    assert_eq!(text("test://docs/a%20b.html").as_deref(), Ok("docs a b test-call"));
}

#[test]
fn prompts_are_described() {
    let prompts = PLUGIN.list_prompts();
    let names: Vec<&str> = prompts.iter().map(|prompt| prompt.name.as_str()).collect();
    assert_eq!(names, ["get", "with-arguments", "asks"]);
    assert_eq!(
        (prompts[1].title.as_deref(), prompts[1].description.as_deref()),
        (Some("With arguments"), Some("Takes arguments."))
    );
    let [first, second, _] = prompts[1].arguments.as_slice() else { panic!("{:?}", prompts[1].arguments) };
    assert_eq!((first.name.as_str(), first.title.as_deref(), first.required), ("arg1", Some("First"), true));
    assert_eq!((first.description.as_deref(), second.required), (Some("The first."), false));
}

#[test]
fn prompts_are_filled_in() {
    let get = |name: &str, arguments: &[(&str, &str)]| testing::prompt(&PLUGIN, name, arguments);
    let simple = get("get", &[]).unwrap();
    assert_eq!((simple.messages.len(), simple.messages[0].role), (1, Role::User));
    assert_eq!(simple.all_text(), "This is a simple prompt.");
    let full = get("with-arguments", &[("arg1", "hello"), ("arg-3", "world")]).unwrap();
    assert!(matches!(full.messages[0].content.data, ContentData::Image(_)));
    assert_eq!(
        (full.messages[1].role, full.all_text().as_str()),
        (Role::Assistant, r#"local hello None Some("world")"#)
    );
    assert_eq!(get("with-arguments", &[]), Err(ToolError::invalid("`arg1` is missing")));
    assert_eq!(get("with-arguments", &[("arg1", "")]), Err(ToolError::invalid("arg1 is empty")));
    assert_eq!(get("get", &[("more", "")]), Err(ToolError::invalid("the prompt has no argument `more`")));
    assert_eq!(get("none", &[]), Err(ToolError::Unsupported("this plugin has no prompt named `none`".into())));
}

#[test]
fn prompts_may_ask() {
    let host = Host::new().form(Answer::Accepted(json!({ "context": "work" })));
    let asked = testing::prompt(&PLUGIN, "asks", &[]).unwrap();
    assert_eq!((asked.description.as_deref(), asked.all_text().as_str()), (Some("Asked"), "work"));
    assert_eq!(host.asked()[0].key.as_deref(), Some("user_context"));
}

#[test]
fn arguments_are_completed() {
    let prompt = |argument: &str, value: &str| testing::complete_prompt(&PLUGIN, "with-arguments", argument, value);
    let first = Completion { values: vec!["a!".into()], total: None, has_more: true };
    assert_eq!(prompt("arg1", "a"), Ok(first));
    assert_eq!(prompt("arg1", "fail"), Err(ToolError::Cancelled));
    let second = prompt("arg2", "").unwrap();
    assert_eq!((second.values.len(), second.total, second.has_more), (100, Some(150), true));
    assert_eq!(prompt("arg-3", "a").unwrap().values.len(), 0);
    assert!(testing::complete_prompt(&PLUGIN, "none", "a", "").is_err());
    let template = testing::complete_template(&PLUGIN, "test://template/{id}/data", "id", "12").unwrap();
    assert_eq!((template.values, template.total), (vec!["123".to_owned(), "124".to_owned()], Some(2)));
}
