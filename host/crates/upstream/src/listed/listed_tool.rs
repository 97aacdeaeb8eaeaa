//! One tool of a server's list: from the server's definition to what this host offers. The operator chose the server, so what
//! cannot be checked here is passed on, and the server checks it. Characters that nobody sees are removed from texts.

use crate::listed::listed_members::{
    MAX_DESCRIPTION, foreign_meta, shown_description, shown_icons, shown_name, shown_title, text_length,
};
use crate::server_input::text::{visible, visible_members};
use plugins::offer::{PluginTool, find_unportable};
use rmcp::model as m;
use runtime::imports::{Execution, Schema, Tool, ToolAnnotations, to_current_draft};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// The key under which the transport notes the parts of a definition that the library's type has no member for. A server that
/// writes this key itself can state nothing more than it could anyway.
pub(crate) const LISTED_META: &str = "dev.portcullis/listed";
/// A tool that is used.
pub(crate) struct ListedTool {
    pub(crate) tool: Arc<PluginTool>,
    /// What some clients cannot read of it, and what is not checked here.
    pub(crate) warnings: Vec<String>,
}

/// Reads a definition. The error says why the tool cannot be used. `follows_tasks`: whether calls may become tasks of the server.
pub(crate) fn read_tool(server: &str, tool: m::Tool, follows_tasks: bool) -> Result<ListedTool, String> {
    let m::Tool { name: given, title, description, input_schema, output_schema, annotations, icons, meta, .. } = tool;
    let mut meta = meta.map(|meta| meta.0).unwrap_or_default();
    let listed = meta.remove(LISTED_META).unwrap_or_default();
    if let Some(reason) = listed["unreadable"].as_str() {
        return Err(reason.to_owned());
    }
    if listed["taskSupport"] == "required" && !follows_tasks {
        return Err(
            "it runs only as a task, and the server has no tasks that this host can follow: those of 2026-07-28".into(),
        );
    }
    let meta = foreign_meta(meta);
    let name = shown_name(&given)?;

    let hints = annotations.unwrap_or_default();
    let (title, hint) = (title.as_deref().map(shown_title), hints.title.as_deref().map(shown_title));
    let mut passed_on = Map::new();
    if name != given {
        passed_on.insert("name".into(), given.into_owned().into());
    }
    if let Some(hint) = &hint {
        passed_on.insert("annotations".into(), json!({ "title": hint }));
    }
    let icons = shown_icons(icons.unwrap_or_default());
    if !icons.is_empty() {
        passed_on.insert("icons".into(), json!(icons));
    }
    if !meta.is_empty() {
        passed_on.insert("_meta".into(), meta.into());
    }

    let mut warnings = Vec::new();
    let mut input = to_current_draft(visible_members((*input_schema).clone()));
    // Arguments are always an object, whatever the server's schema says.
    input.insert("type".into(), "object".into());
    let input_schema = Value::Object(input).to_string();
    let checked = Schema::compile(&input_schema);
    if let Err(error) = &checked {
        warnings.push(format!("the arguments of the tool `{name}` are checked by the server alone: {error}"));
    }
    let output = output_schema.map(|schema| to_current_draft(visible_members((*schema).clone())));
    let output_schema = output.and_then(|mut output| {
        if !is_of_object(&output) {
            warnings.push(format!(
                "the output schema of the tool `{name}` is left out, since it is not of an object: some clients would lose all tools"
            ));
            return None;
        }
        output.insert("type".into(), "object".into());
        Some(output)
    });
    let given_description = description.as_deref().unwrap_or_default();
    if visible(given_description).len() > MAX_DESCRIPTION {
        warnings.push(format!("the description of the tool `{name}` is cut to {MAX_DESCRIPTION} bytes"));
    }
    let is_plain = |c: char| c.is_ascii_graphic();
    let own_name = (!name.chars().all(is_plain)).then(|| name.clone());
    let tool = Tool {
        title: title.or(hint).or(own_name),
        description: shown_description(given_description),
        input_schema,
        output_schema: output_schema.map(|schema| Value::Object(schema).to_string()),
        annotations: ToolAnnotations {
            read_only: hints.read_only_hint,
            destructive: hints.destructive_hint,
            idempotent: hints.idempotent_hint,
            open_world: hints.open_world_hint,
        },
        execution: Execution::Inline,
        icons: Vec::new(),
        name,
    };
    let unportable = find_unportable(&tool).into_iter();
    warnings.extend(unportable.map(|part| format!("some clients may lose all tools: {part}")));
    let full_name = format!("{server}.{}", tool.name);
    Ok(ListedTool { tool: PluginTool::of_server(tool, full_name, passed_on, checked.is_ok()), warnings })
}

/// Whether everything that a schema allows is an object, also where it does not say so at its root.
fn is_of_object(schema: &Map<String, Value>) -> bool {
    let branches = |key: &str| schema.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let is_object = |branch: &Value| branch.as_object().is_some_and(is_of_object);
    let all = |key: &str| !branches(key).is_empty() && branches(key).iter().all(is_object);
    match schema.get("type") {
        Some(kind) => kind == "object",
        None => {
            schema.contains_key("properties") || all("anyOf") || all("oneOf") || branches("allOf").iter().any(is_object)
        }
    }
}

/// The name by which the server knows its tool.
pub(crate) fn given_name(tool: &PluginTool) -> &str {
    tool.passed_on.get("name").and_then(Value::as_str).unwrap_or(&tool.tool.name)
}

/// About the size of a definition's text, in bytes.
pub(crate) fn size_of(tool: &m::Tool) -> usize {
    let members =
        |members: &m::JsonObject| members.iter().map(|(key, value)| key.len() + 4 + text_length(value)).sum::<usize>();
    let icons = tool.icons.iter().flatten().map(|icon| icon.src.len() + 64).sum::<usize>();
    tool.name.len()
        + tool.title.as_deref().map_or(0, str::len)
        + tool.description.as_deref().map_or(0, str::len)
        + members(&tool.input_schema)
        + tool.output_schema.as_deref().map_or(0, members)
        + tool.meta.as_ref().map_or(0, |meta| members(&meta.0))
        + tool.annotations.as_ref().and_then(|hints| hints.title.as_deref()).map_or(0, str::len)
        + icons
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(change: impl FnOnce(&mut Value)) -> Result<ListedTool, String> {
        let mut tool = json!({ "name": "read", "description": "Reads.", "inputSchema": { "type": "object" } });
        change(&mut tool);
        read_tool("server", serde_json::from_value(tool).unwrap(), false)
    }

    fn with_input(schema: Value) -> ListedTool {
        read(|tool| tool["inputSchema"] = schema).unwrap()
    }

    fn schema_of(listed: &ListedTool) -> Value {
        serde_json::from_str(&listed.tool.tool.input_schema).unwrap()
    }

    #[test]
    fn what_cannot_be_compiled_loses_only_its_check() {
        let wrong = json!({ "a": 7 });
        let strict = json!({ "type": "object", "properties": { "a": { "type": "string" } } });
        assert!(with_input(strict.clone()).tool.check_arguments(&wrong).is_err());
        let ahead = json!({ "type": "object", "properties": { "a": { "type": "string", "pattern": "^(?!x)" } } });
        let mut long = strict.clone();
        long["description"] = "y".repeat(70_000).into();
        let mut deep = strict.clone();
        for _ in 0..40 {
            deep = json!({ "type": "object", "properties": { "a": deep } });
        }
        let mut wide = strict.clone();
        wide["$defs"] = (0..5_000).map(|at| (format!("d{at}"), json!({}))).collect::<Map<_, _>>().into();
        for schema in [ahead, long, deep, wide] {
            let listed = with_input(schema.clone());
            assert_eq!(schema_of(&listed), schema, "shown as given");
            assert_eq!(listed.tool.check_arguments(&wrong), Ok(()));
            assert!(listed.warnings[0].contains("checked by the server alone"), "{:?}", listed.warnings);
        }
    }

    #[test]
    fn older_drafts_and_slips_are_shown_in_the_current_draft_and_checked() {
        for properties in [
            json!({ "a": { "type": "string", "required": true } }),
            json!({ "a": { "type": "string", "description": null } }),
            json!({ "a": { "type": "string" }, "b": { "type": "array", "items": [{ "type": "string" }] } }),
        ] {
            let listed = with_input(json!({ "type": "object", "properties": properties }));
            assert!(listed.warnings.is_empty(), "{:?}", listed.warnings);
            assert!(listed.tool.check_arguments(&json!({ "a": 7 })).is_err(), "{properties}");
        }
        assert_eq!(schema_of(&with_input(json!({ "properties": [] }))), json!({ "properties": {}, "type": "object" }));
        for kind in
            [json!({}), json!({ "type": ["null", "object"] }), json!({ "type": "string" }), json!({ "type": 7 })]
        {
            assert_eq!(schema_of(&with_input(kind)), json!({ "type": "object" }));
        }
    }

    #[test]
    fn output_schemas_of_objects_say_so_and_others_are_left_out_with_a_word() {
        let shape = json!({ "type": "object", "properties": { "n": { "type": "integer" } } });
        for (given, is_shown) in [
            (shape.clone(), true),
            (json!({ "properties": { "n": {} } }), true),
            (json!({ "anyOf": [shape, { "properties": {} }] }), true),
            (json!({ "allOf": [{}, shape] }), true),
            (json!({ "oneOf": [shape, { "type": "string" }] }), false),
            (json!({ "type": "array" }), false),
            (json!({}), false),
        ] {
            let listed = read(|tool| tool["outputSchema"] = given.clone()).unwrap();
            let shown =
                listed.tool.tool.output_schema.as_deref().map(|text| serde_json::from_str::<Value>(text).unwrap());
            assert_eq!(shown.is_some(), is_shown, "{given}");
            assert!(shown.is_none_or(|shown| shown["type"] == "object"));
            let is_named = listed.warnings.iter().any(|warning| warning.contains("output schema of the tool `read`"));
            assert_eq!(is_named, !is_shown, "{given}: {:?}", listed.warnings);
        }
    }

    #[test]
    fn a_title_among_the_hints_stays_there() {
        let listed = read(|tool| tool["annotations"] = json!({ "title": "A title" })).unwrap();
        assert_eq!(listed.tool.tool.title.as_deref(), Some("A title"));
        assert_eq!(listed.tool.passed_on["annotations"], json!({ "title": "A title" }));
    }

    #[test]
    fn hidden_characters_are_removed_and_no_reason_to_leave_a_tool_out() {
        for (hidden, seen) in
            [("a\u{1b}[2J", "a[2J"), ("a\u{e0041}", "a"), ("a\u{200b}b", "ab"), ("می\u{200c}خ", "می\u{200c}خ")]
        {
            let schema = json!({ "type": "object", "properties": { hidden: { "enum": [hidden] } } });
            let listed = read(|tool| {
                (tool["title"], tool["description"]) = (hidden.into(), hidden.into());
                (tool["inputSchema"], tool["outputSchema"]) = (schema.clone(), schema.clone());
            });
            let tool = &listed.unwrap().tool.tool;
            assert_eq!((tool.title.as_deref(), tool.description.as_str()), (Some(seen), seen));
            for text in [&tool.input_schema, tool.output_schema.as_ref().unwrap()] {
                assert_eq!(
                    serde_json::from_str::<Value>(text).unwrap()["properties"],
                    json!({ seen: { "enum": [seen] } })
                );
            }
        }
    }

    #[test]
    fn names_are_kept_as_people_see_them_and_sent_as_they_are() {
        for (given, shown) in
            [("two words", "two words"), (" a\n b\u{200b}", "a b"), ("保存文件", "保存文件"), ("a/b", "a/b")]
        {
            let listed = read(|tool| tool["name"] = given.into()).unwrap().tool;
            assert_eq!((&*listed.tool.name, given_name(&listed)), (shown, given));
            assert_eq!(listed.tool.title.as_deref(), (!shown.is_ascii() || shown.contains(' ')).then_some(shown));
        }
        let titled = read(|tool| (tool["name"], tool["title"]) = ("保存".into(), "Save".into())).unwrap();
        assert_eq!(titled.tool.tool.title.as_deref(), Some("Save"));
        for bad in ["", " ", "\u{200b}", &"x".repeat(600)] {
            assert!(read(|tool| tool["name"] = bad.into()).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn parts_that_the_host_does_not_read_are_passed_on() {
        let (good, bad) =
            (json!({ "src": "https://a.example/i.png", "theme": "dark" }), json!({ "src": "javascript:x" }));
        let listed = read(|tool| {
            tool["icons"] = json!([good, bad]);
            tool["_meta"] = json!({ "ui": { "resourceUri": "ui://a" }, "dev.portcullis/source": "forged" });
            (tool["title"], tool["annotations"]) = ("One".into(), json!({ "title": "Two", "readOnlyHint": true }));
        });
        let passed_on = &listed.unwrap().tool.passed_on;
        let expected = json!({ "annotations": { "title": "Two" }, "icons": [good], "_meta": { "ui": { "resourceUri": "ui://a" } } });
        assert_eq!(Value::Object(passed_on.clone()), expected);
    }

    #[test]
    fn a_tool_that_needs_tasks_is_left_out_where_there_are_none() {
        let needs = |support: &str, follows_tasks| {
            let meta = json!({ LISTED_META: { "taskSupport": support } });
            let tool = json!({ "name": "a", "inputSchema": {}, "_meta": meta });
            read_tool("server", serde_json::from_value(tool).unwrap(), follows_tasks).is_ok()
        };
        assert!(needs("optional", false) && needs("required", true) && !needs("required", false));
    }

    #[test]
    fn long_texts_are_cut() {
        let listed = read(|tool| tool["description"] = "x".repeat(100_000).into()).unwrap();
        assert_eq!(listed.tool.tool.description.len(), MAX_DESCRIPTION);
        assert!(listed.warnings[0].contains("is cut to"), "{:?}", listed.warnings);
    }
}
