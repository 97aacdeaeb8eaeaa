//! Lists a server's tools and checks that they are safe to expose.

use crate::error::UpstreamError;
use crate::text::single_line;
use futures::FutureExt as _;
use platform::telemetry::is_unsafe;
use platform::text::truncate;
use plugins::offer::{PluginTool, check_object_texts, check_text, find_unportable};
use policy::{PluginId, Principal, Side};
use rmcp::model as m;
use rmcp::service::{Peer, RoleClient};
use runtime::engine::run_in_pool;
use runtime::imports::{Execution, Schema, Tool, ToolAnnotations};
use serde_json::Value;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

/// Tools of one server, and pages of its list. Bounds the memory and the time that a server can cost.
const MAX_TOOLS: usize = 512;
const MAX_PAGES: usize = 64;
/// Tools that are looked at, those that are left out among them. Bounds the time that a server can cost with tools that nobody
/// gets.
const MAX_CHECKED: usize = 2 * MAX_TOOLS;
/// Size of all descriptions and schemas together, in bytes, those of tools that are left out among them.
const MAX_BYTES: usize = 8 << 20;
/// Length of a tool's name, title and description, in bytes.
const MAX_NAME: usize = 128;
const MAX_TITLE: usize = 256;
const MAX_DESCRIPTION: usize = 16 << 10;
/// Time limit for the whole list.
const LIST_TIMEOUT: Duration = Duration::from_secs(30);

/// What is told about one list; further problems are counted.
const MAX_PROBLEMS: usize = 16;

/// The tools of a server that can be used, and what is wrong with the others.
#[derive(Default)]
pub(super) struct ListedTools {
    pub(super) tools: Vec<Arc<PluginTool>>,
    pub(super) problems: Problems,
}

/// What is wrong with a list, a sentence each, and how many more there are.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Problems {
    told: Vec<String>,
    more: usize,
}

impl Problems {
    fn push(&mut self, problem: String) {
        match self.told.len() < MAX_PROBLEMS {
            true => self.told.push(problem),
            false => self.more += 1,
        }
    }

    /// That tools are left out which nobody has looked at: this is told first.
    fn cut(&mut self, problem: String) {
        self.told.insert(0, problem);
    }

    pub(super) fn log(&self, server: &str) {
        self.told.iter().for_each(|problem| tracing::warn!(server, "{problem}"));
        if self.more > 0 {
            tracing::warn!(server, more = self.more, "the server's list of tools has further problems");
        }
    }
}

/// Lists the tools. Tools that fail the check are left out.
pub(super) async fn list_tools(server: &str, peer: &Peer<RoleClient>) -> Result<ListedTools, UpstreamError> {
    let failed = |what: String| UpstreamError::Malformed { server: server.to_owned(), what };
    let listing = async {
        let (mut tools, mut names, mut cursor) = (Vec::new(), HashSet::new(), None::<String>);
        let (mut checked, mut bytes, mut problems) = (0, 0, Problems::default());
        let owner = || (Principal::local(), PluginId { side: Side::Server, name: server.into() });
        for _ in 0..MAX_PAGES {
            let mut page = m::PaginatedRequestParams::default();
            page.cursor = cursor.take();
            let listed = peer.list_tools(Some(page)).await.map_err(|error| failed(single_line(&error.to_string())))?;
            for tool in listed.tools {
                let (name, checking) = (single_line(&tool.name), server.to_owned());
                checked += 1;
                bytes += size_of(&tool);
                if tools.len() >= MAX_TOOLS || checked > MAX_CHECKED || bytes > MAX_BYTES {
                    problems.cut(format!("the server has too many tools; only {} are used", tools.len()));
                    return Ok(ListedTools { tools, problems });
                }
                // A schema may take milliseconds: one after the other, and beside calls of others.
                match run_in_pool(owner(), async move { check_tool(&checking, tool) }.boxed()).await {
                    Ok(tool) => {
                        if names.insert(tool.tool.name.clone()) {
                            for part in find_unportable(&tool.tool) {
                                problems.push(format!("some clients may lose all tools: {}", single_line(&part)));
                            }
                            tools.push(tool);
                        }
                    }
                    Err(reason) => {
                        problems.push(format!("the tool {name:?} is left out: {}", single_line(&reason)));
                    }
                }
            }
            match listed.next_cursor {
                Some(next) if !next.is_empty() => cursor = Some(next),
                _ => return Ok(ListedTools { tools, problems }),
            }
        }
        problems.cut(format!("the list of tools has more than {MAX_PAGES} pages; only {} tools are used", tools.len()));
        Ok(ListedTools { tools, problems })
    };
    match tokio::time::timeout(LIST_TIMEOUT, listing).await {
        Ok(listed) => listed,
        Err(_) => Err(UpstreamError::Timeout { server: server.to_owned(), limit: LIST_TIMEOUT }),
    }
}

/// The size of a tool's text, in bytes.
fn size_of(tool: &m::Tool) -> usize {
    let schema =
        |schema: &m::JsonObject| schema.iter().map(|(key, value)| key.len() + text_length(value)).sum::<usize>();
    tool.description.as_deref().map_or(0, str::len)
        + schema(&tool.input_schema)
        + tool.output_schema.as_deref().map_or(0, schema)
}

/// About the length of a value's JSON text.
fn text_length(value: &Value) -> usize {
    // serde_json bounds the recursion at 128.
    match value {
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(|item| 1 + text_length(item)).sum::<usize>() + 2,
        Value::Object(items) => items.iter().map(|(key, item)| key.len() + 4 + text_length(item)).sum::<usize>() + 2,
        Value::Null | Value::Bool(_) | Value::Number(_) => 4,
    }
}

fn check_tool(server: &str, tool: m::Tool) -> Result<Arc<PluginTool>, String> {
    let name = tool.name.into_owned();
    if name.is_empty() || name.len() > MAX_NAME || name.chars().any(|c| c.is_whitespace() || is_unsafe(c)) {
        return Err(format!("its name is not 1 to {MAX_NAME} visible characters"));
    }
    let hints = tool.annotations.unwrap_or_default();
    let title = tool.title.or(hints.title).map(|title| clean_text(&title, MAX_TITLE));
    let description = clean_text(tool.description.as_deref().unwrap_or_default(), MAX_DESCRIPTION);
    for text in title.iter().chain([&description]) {
        check_text(text).map_err(|problem| format!("its title or description {problem}"))?;
    }
    let mut schema = (*tool.input_schema).clone();
    let is_object = |kind: &Value| kind.as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind == "object"));
    if schema.get("type").is_none_or(is_object) {
        // Arguments are always an object, so nothing is lost.
        schema.insert("type".into(), "object".into());
    }
    let text = Value::Object(schema).to_string();
    let input = Schema::compile(&text).map_err(|error| format!("its input schema is refused: {error}"))?;
    check_object_texts(input.document()).map_err(|place| format!("its input schema is refused: {place}"))?;
    let output = tool.output_schema.map(|schema| Value::Object((*schema).clone()).to_string());
    // An output schema that cannot be used is dropped.
    let is_usable = |text: &String| Schema::compile(text).is_ok_and(|it| check_object_texts(it.document()).is_ok());
    let output_schema = output.filter(is_usable);
    let tool = Tool {
        title,
        description,
        input_schema: text,
        output_schema,
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
    let full_name = format!("{server}.{}", tool.name);
    Ok(PluginTool::new(tool, full_name))
}

/// Shortens a text and normalises its line ends.
fn clean_text(text: &str, limit: usize) -> String {
    truncate(text, limit).replace("\r\n", "\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn tool(change: impl FnOnce(&mut Value)) -> Result<Arc<PluginTool>, String> {
        let mut tool = json!({ "name": "read", "description": "Reads.", "inputSchema": { "type": "object" } });
        change(&mut tool);
        check_tool("server", serde_json::from_value(tool).unwrap())
    }

    #[test]
    fn unsafe_tools_are_refused() {
        assert!(tool(|_| ()).is_ok());
        assert!(tool(|tool| tool["name"] = "".into()).is_err());
        assert!(tool(|tool| tool["name"] = "a b".into()).is_err());
        assert!(tool(|tool| tool["name"] = "x".repeat(200).into()).is_err());
        assert!(tool(|tool| tool["inputSchema"] = json!({ "type": "object", "$ref": "file:///etc/passwd" })).is_err());
        assert!(tool(|tool| tool["inputSchema"] = json!({ "type": "object", "x": "y".repeat(70_000) })).is_err());
    }

    #[test]
    fn what_cannot_be_anything_but_an_object_may_be_called_otherwise() {
        for kind in [json!({}), json!({ "type": ["object"] }), json!({ "type": ["null", "object"] })] {
            let read = tool(|tool| tool["inputSchema"] = kind).unwrap();
            assert_eq!(read.tool.input_schema, r#"{"type":"object"}"#);
        }
        for kind in [json!({ "type": "string" }), json!({ "type": ["null", "array"] }), json!({ "type": 7 })] {
            assert!(tool(|tool| tool["inputSchema"] = kind.clone()).is_err(), "{kind}");
        }
    }

    #[test]
    fn texts_are_bounded_and_may_not_hide_characters() {
        let long = tool(|tool| tool["description"] = format!("a\r\n{}", "x".repeat(20_000)).into());
        let text = &long.unwrap().tool.description;
        assert!(text.len() <= MAX_DESCRIPTION && text.starts_with("a\nxx"), "{}", &text[..20]);
        for hidden in ["a\u{1b}[2J", "a\u{e0041}", "a\u{202e}", "a\u{200b}"] {
            assert!(tool(|tool| tool["description"] = hidden.into()).is_err(), "{hidden:?}");
            assert!(tool(|tool| tool["title"] = hidden.into()).is_err(), "{hidden:?}");
            let schema = json!({ "type": "object", "properties": { "x": { "enum": [hidden] } } });
            assert!(tool(|tool| tool["inputSchema"] = schema.clone()).is_err(), "{hidden:?}");
            assert!(tool(|tool| tool["outputSchema"] = schema).unwrap().tool.output_schema.is_none(), "{hidden:?}");
        }
        let odd = tool(|tool| tool["outputSchema"] = json!({ "type": "object", "$ref": "http://x/" }));
        assert!(odd.unwrap().tool.output_schema.is_none());
    }
}
