//! One entry of a server's list of resources, templates or prompts: from the server's definition to what clients see. A member
//! whose type is not the protocol's is left out; nothing is added.

use crate::listed::list_kind::ListKind;
use crate::listed::listed_members::{foreign_meta, shown_description, shown_icons, shown_name, shown_title};
use crate::server_input::peer_account::beginning;
use crate::server_input::text::visible;
use platform::telemetry::is_unsafe;
use plugins::catalog::{ListedItem, upstream_address};
use rmcp::model::{Annotations, Icon};
use runtime::imports::check_link;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// Length of a URI or a template, in bytes, in the longest form that clients may get. Clients cannot subscribe to longer ones.
const MAX_URI: usize = 2 << 10;
/// Arguments of a prompt. Bounds what a form shows.
const MAX_ARGUMENTS: usize = 64;

/// What a server offers besides tools.
#[derive(Default, Clone)]
pub(crate) struct ListedItems {
    pub(crate) resources: Vec<Arc<ListedItem>>,
    pub(crate) templates: Vec<Arc<ListedItem>>,
    pub(crate) prompts: Vec<Arc<ListedItem>>,
}

impl ListedItems {
    pub(crate) fn list_mut(&mut self, kind: ListKind) -> Option<&mut Vec<Arc<ListedItem>>> {
        match kind {
            ListKind::Tools => None,
            ListKind::Resources => Some(&mut self.resources),
            ListKind::Templates => Some(&mut self.templates),
            ListKind::Prompts => Some(&mut self.prompts),
        }
    }
}

/// The member by which a server knows an entry.
fn key_member(kind: ListKind) -> &'static str {
    match kind {
        ListKind::Tools | ListKind::Prompts => "name",
        ListKind::Resources => "uri",
        ListKind::Templates => "uriTemplate",
    }
}

/// The key that distinguishes entries. If two names are shown alike, the first entry counts.
pub(crate) fn key_of(item: &ListedItem) -> &str {
    match item.members.get("uri").or_else(|| item.members.get("uriTemplate")) {
        Some(_) => &item.key,
        None => item.name(),
    }
}

/// Reads an entry. The error says why it cannot be used.
pub(crate) fn read_item(server: &str, kind: ListKind, entry: Value) -> Result<ListedItem, String> {
    let Value::Object(mut given) = entry else {
        return Err(format!("it is none: {}", beginning(&entry.to_string())));
    };
    let Some(Value::String(key)) = given.remove(key_member(kind)) else {
        let member = key_member(kind);
        return Err(format!("it has no `{member}`: {}", beginning(&Value::Object(given).to_string())));
    };
    let mut members = Map::new();
    match kind {
        ListKind::Tools | ListKind::Prompts => {
            members.insert("name".into(), shown_name(&key)?.into());
        }
        ListKind::Resources | ListKind::Templates => {
            check_uri(server, kind, &key)?;
            let named = given.get("name").and_then(Value::as_str).and_then(|name| shown_name(name).ok());
            members.insert("name".into(), named.unwrap_or_else(|| key.clone()).into());
            members.insert(key_member(kind).into(), key.as_str().into());
        }
    }
    for (name, value) in given {
        if let Some(shown) = shown_member(kind, &name, value) {
            members.insert(name, shown);
        }
    }
    Ok(ListedItem { key, members })
}

fn check_uri(server: &str, kind: ListKind, uri: &str) -> Result<(), String> {
    let length = upstream_address(server, uri).len();
    if length > MAX_URI {
        return Err(format!("its address is {length} bytes long, and {MAX_URI} are allowed"));
    }
    if uri.contains(|c| is_unsafe(c) || c == '\n' || c == '\t') {
        return Err("its URI has characters that people do not see".into());
    }
    match kind {
        // Spaces are not allowed in URIs, but they do no harm.
        ListKind::Resources => check_link(&uri.replace(' ', "%20")),
        ListKind::Templates | ListKind::Tools | ListKind::Prompts => Ok(()),
    }
}

/// None for what is not passed on.
fn shown_member(kind: ListKind, name: &str, value: Value) -> Option<Value> {
    let text = || value.as_str();
    match name {
        "title" => text().map(|text| shown_title(text).into()),
        "description" => text().map(|text| shown_description(text).into()),
        "mimeType" => text().filter(|text| !text.contains(is_unsafe)).map(Value::from),
        "size" => value.as_u64().map(Value::from),
        "annotations" => Annotations::deserialize(&value).is_ok().then_some(value),
        "icons" => {
            let icons = shown_icons(Vec::<Icon>::deserialize(&value).ok()?);
            (!icons.is_empty()).then(|| json!(icons))
        }
        "_meta" => match value {
            Value::Object(meta) => Some(foreign_meta(meta)).filter(|meta| !meta.is_empty()).map(Value::Object),
            _ => None,
        },
        "arguments" if kind == ListKind::Prompts => {
            let arguments = value.as_array()?.iter().take(MAX_ARGUMENTS);
            Some(arguments.filter_map(shown_argument).collect())
        }
        _ => None,
    }
}

/// An argument of a prompt. The server knows it by its name, so it cannot be passed on if people do not see the name as it is.
fn shown_argument(argument: &Value) -> Option<Value> {
    let name = argument["name"].as_str().filter(|name| !name.is_empty() && visible(name) == *name)?;
    let mut shown = json!({ "name": name });
    if let Some(title) = argument["title"].as_str() {
        shown["title"] = shown_title(title).into();
    }
    if let Some(description) = argument["description"].as_str() {
        shown["description"] = shown_description(description).into();
    }
    if let Some(required) = argument["required"].as_bool() {
        shown["required"] = required.into();
    }
    Some(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(kind: ListKind, entry: Value) -> Result<ListedItem, String> {
        read_item("far", kind, entry)
    }

    #[test]
    fn a_good_entry_is_passed_on_as_it_is() {
        let icons = json!([{ "src": "https://a.example/i.svg", "theme": "dark" }]);
        let meta = json!({ "vendor/x": [1, null] });
        let resource = json!({ "uri": "notes://1", "name": "one", "title": "One", "description": "The first.",
            "mimeType": "text/plain", "size": 7, "annotations": { "audience": ["user"], "priority": 0.5 },
            "icons": icons, "_meta": meta });
        let item = read(ListKind::Resources, resource.clone()).unwrap();
        assert_eq!((item.key.as_str(), Value::Object(item.members)), ("notes://1", resource));
        let template = json!({ "uriTemplate": "notes://{+id}{?a}", "name": "note", "_meta": meta });
        assert_eq!(Value::Object(read(ListKind::Templates, template.clone()).unwrap().members), template);
        let arguments = json!([{ "name": "who", "required": true, "description": "Whom." }, { "name": "b" }]);
        let prompt = json!({ "name": "greet", "arguments": arguments });
        assert_eq!(Value::Object(read(ListKind::Prompts, prompt.clone()).unwrap().members), prompt);
    }

    #[test]
    fn one_bad_member_does_not_hide_the_rest() {
        let odd = json!({ "uri": "a:b", "name": 7, "title": 7, "mimeType": [], "size": -1, "annotations": { "priority": "x" },
            "icons": [{ "src": "file:///etc/x" }], "_meta": { "dev.portcullis/source": 7 }, "x": 1, "description": "a\u{200b}b" });
        let shown = json!({ "uri": "a:b", "name": "a:b", "description": "ab" });
        assert_eq!(Value::Object(read(ListKind::Resources, odd).unwrap().members), shown);
        let prompt = json!({ "name": "two\u{200b} words", "arguments": [{ "name": "a\u{200b}" }, 7, { "name": "b", "title": 1 }] });
        let prompt = read(ListKind::Prompts, prompt).unwrap();
        assert_eq!((prompt.key.as_str(), prompt.name()), ("two\u{200b} words", "two words"));
        assert_eq!(prompt.members["arguments"], json!([{ "name": "b" }]));
    }

    #[test]
    fn what_nobody_can_name_is_left_out() {
        for bad in [
            json!(7),
            json!({}),
            json!({ "uri": "" }),
            json!({ "uri": "no-scheme" }),
            json!({ "uri": "a:\u{200b}" }),
            json!({ "uri": "a:\n" }),
            json!({ "uri": "javascript:alert(1)" }),
            json!({ "uri": format!("a:{}", "x".repeat(2_030)) }),
        ] {
            assert!(read(ListKind::Resources, bad.clone()).is_err(), "{bad}");
        }
        assert!(read(ListKind::Resources, json!({ "uri": "file:///two words" })).is_ok());
        assert!(read(ListKind::Prompts, json!({ "name": "\u{200b}" })).is_err());
    }
}
