//! How a tool that the gateway lists differs from what its server lists, and whether `host/docs/servers.md` names it.

use super::gateway::{SOURCE, shown_name};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// The members of annotations that MCP has.
const HINTS: [&str; 5] = ["title", "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"];
/// How many tools a sentence names.
const NAMED: usize = 3;

/// What differs, by what a reader is told, with the tools in which it does.
#[derive(Default)]
pub(super) struct Differences {
    documented: BTreeMap<String, Vec<String>>,
    others: BTreeMap<String, Vec<String>>,
}

/// The sentences about one tool: whether the documentation names what differs, and what does.
type Found = BTreeSet<(bool, String)>;

impl Differences {
    /// A tool of the gateway that the server does not list.
    pub(super) fn invented(&mut self, name: &str) {
        self.others.entry("listed by the gateway alone".into()).or_default().push(name.to_owned());
    }

    /// Compares a tool as its server lists it with the same tool as the gateway does.
    pub(super) fn compare(&mut self, given: &Value, shown: &Value) {
        let name = given["name"].as_str().unwrap_or_default();
        let (mut given, mut shown) = (given.clone(), shown.clone());
        if let Some(meta) = shown["_meta"].as_object_mut() {
            meta.remove(SOURCE);
        }
        let mut found = Found::new();
        if shown["name"] != shown_name(name) {
            found.insert((true, "another name".into()));
        }
        // Titles begin with the name of their server.
        let whose =
            shown["name"].as_str().and_then(|name| name.split("__").next()).unwrap_or_default().to_owned() + ": ";
        for at in ["/title", "/annotations/title"] {
            if let Some(title) = shown.pointer_mut(at)
                && let Some(own) = title.as_str().and_then(|text| text.strip_prefix(&whose))
            {
                *title = own.into();
            }
        }
        given["name"] = shown["name"].clone();
        if given["title"].is_null() && given["annotations"]["title"].is_string() {
            given["title"] = given["annotations"]["title"].clone();
        }
        // Empty or not there is the same for these.
        for member in ["annotations", "_meta"] {
            for tool in [&mut given, &mut shown] {
                match &mut tool[member] {
                    Value::Object(members) => members.retain(|_, value| !value.is_null()),
                    value => *value = json!({}),
                }
            }
        }
        walk(&mut Vec::new(), Some(&given), Some(&shown), &mut found);
        for (is_documented, what) in found {
            let known = if is_documented { &mut self.documented } else { &mut self.others };
            known.entry(what).or_default().push(name.to_owned());
        }
    }

    /// What differs that must not, a sentence each.
    pub(super) fn undocumented(&self) -> impl Iterator<Item = String> {
        self.others.iter().map(|(what, tools)| {
            let (named, count) = (tools[..tools.len().min(NAMED)].join("`, `"), tools.len());
            format!("{what}, which host/docs/servers.md does not name: `{named}` ({count} tools)")
        })
    }
}

impl fmt::Display for Differences {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let others = self.others.iter().map(|(what, tools)| format!("**{what}** ({})", tools.len()));
        let documented = self.documented.iter().map(|(what, tools)| format!("{what} ({})", tools.len()));
        f.write_str(&others.chain(documented).collect::<Vec<_>>().join(", "))
    }
}

/// Finds the deepest places that differ.
fn walk<'a>(path: &mut Vec<&'a str>, given: Option<&'a Value>, shown: Option<&'a Value>, found: &mut Found) {
    match (given, shown) {
        (given, shown) if given == shown => {}
        (Some(Value::Object(one)), Some(Value::Object(other))) => {
            for key in one.keys().chain(other.keys()).collect::<BTreeSet<_>>() {
                path.push(key);
                walk(path, one.get(key), other.get(key), found);
                path.pop();
            }
        }
        (Some(Value::Array(one)), Some(Value::Array(other))) if one.len() == other.len() => {
            one.iter().zip(other).for_each(|(one, other)| walk(path, Some(one), Some(other), found));
        }
        _ => {
            let what = match (given, shown) {
                (None, _) => "added",
                (_, None) => "removed",
                _ => "changed",
            };
            let (member, place) = (path.first().copied().unwrap_or_default(), path.last().copied().unwrap_or_default());
            let place = if path.len() > 1 { format!("`{place}` of `{member}`") } else { format!("`{member}`") };
            let is_documented = match *path.as_slice() {
                ["execution"] => shown.is_none(),
                ["annotations", hint] => shown.is_none() && !HINTS.contains(&hint),
                ["inputSchema" | "outputSchema", ref above @ .., keyword] => is_rewritten(above, keyword, given, shown),
                _ => false,
            };
            match (given.and_then(Value::as_str), shown.and_then(Value::as_str)) {
                (Some(one), Some(other)) if has_hidden(one, other) => {
                    found.insert((true, format!("hidden characters in {place}")));
                }
                _ => {
                    found.insert((is_documented, format!("{what} {place}")));
                }
            }
        }
    }
}

/// Whether a keyword of a schema is written so for clients: as JSON Schema 2020-12 has it, or in a way that all of them know.
fn is_rewritten(above: &[&str], keyword: &str, given: Option<&Value>, shown: Option<&Value>) -> bool {
    if above.last() == Some(&"properties") {
        // It is no keyword, but a property.
        return false;
    }
    match (keyword, given, shown) {
        (_, Some(Value::Null), None) | (_, Some(Value::Bool(_)), Some(Value::Object(_))) => true,
        ("format" | "$ref" | "additionalItems" | "minimum" | "maximum", Some(_), None) => true,
        ("exclusiveMinimum" | "exclusiveMaximum", Some(Value::Bool(_)), _) => true,
        ("properties" | "items", None, Some(_)) | ("properties" | "items", Some(Value::Array(_)), _) => true,
        ("prefixItems", None, Some(_)) | ("$schema", Some(_), Some(_)) => true,
        ("required", given, _) => !given.is_some_and(Value::is_array),
        ("type", _, Some(kind)) => above.is_empty() && kind == "object",
        ("type", Some(kind), None) => kind == "any",
        _ => false,
    }
}

/// Whether one text is the other one besides characters that nobody sees.
fn has_hidden(given: &str, shown: &str) -> bool {
    let mut rest = shown.chars().peekable();
    let is_hidden = |c: char| c.is_control() || !(c.is_ascii() || c.is_alphanumeric());
    given.chars().all(|c| rest.next_if_eq(&c).is_some() || is_hidden(c)) && rest.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is told of a tool that is changed on its way: as documented, and what must not be.
    fn told(given: &Value, shown: &Value) -> (String, usize) {
        let (mut given, mut shown) = (given.clone(), shown.clone());
        given["name"] = "run".into();
        shown["name"] = "server__run".into();
        shown["_meta"]["dev.portcullis/source"] = json!({"upstream": "server", "tool": "run"});
        let mut differences = Differences::default();
        differences.compare(&given, &shown);
        (differences.to_string(), differences.undocumented().count())
    }

    #[test]
    fn what_is_documented_is_told_and_what_is_not_is_wrong() {
        let schema = |keywords: Value| json!({"inputSchema": {"properties": {"a": keywords}}});
        for (given, shown, documented) in [
            (json!({}), json!({}), ""),
            (json!({"_meta": {"a": 1}}), json!({"_meta": {"a": 1}}), ""),
            (json!({"title": "A"}), json!({"title": "server: A"}), ""),
            (json!({"execution": {}}), json!({}), "removed `execution` (1)"),
            (json!({"annotations": {"title": "A"}}), json!({"title": "A", "annotations": {"title": "A"}}), ""),
            (json!({"annotations": {"a": 1}}), json!({}), "removed `a` of `annotations` (1)"),
            (
                json!({"description": "a\u{200b}b"}),
                json!({"description": "ab"}),
                "hidden characters in `description` (1)",
            ),
            (schema(json!({"format": "x"})), schema(json!({})), "removed `format` of `inputSchema` (1)"),
            (
                schema(json!({"type": "array"})),
                schema(json!({"type": "array", "items": {}})),
                "added `items` of `inputSchema` (1)",
            ),
            (schema(json!({"enum": null})), schema(json!({})), "removed `enum` of `inputSchema` (1)"),
        ] {
            assert_eq!(told(&given, &shown), (documented.to_owned(), 0));
        }
        for (given, shown) in [
            (json!({"title": "A"}), json!({})),
            (json!({"icons": []}), json!({})),
            (json!({"annotations": {"title": "A"}}), json!({"title": "A"})),
            (json!({"_meta": {"a": 1}}), json!({})),
            (json!({"annotations": {"readOnlyHint": true}}), json!({})),
            (json!({"description": "a"}), json!({"description": "b"})),
            (json!({"description": "ab"}), json!({"description": "a"})),
            (json!({"description": "a"}), json!({"description": "ab"})),
            (schema(json!({"enum": [1]})), schema(json!({}))),
            (schema(json!({"required": ["a"]})), schema(json!({}))),
            (schema(json!({"properties": {"format": {}}})), schema(json!({"properties": {}}))),
            (schema(json!({"default": 1})), schema(json!({"default": 2}))),
        ] {
            assert_eq!(told(&given, &shown).1, 1, "{given} {shown}");
        }
    }
}
