//! What a component says it offers, checked before any client sees it. A guest wrote these texts, a model will read them.

use super::plugin::PluginTool;
use crate::imports::{Schema, SchemaError, Tool};
use crate::telemetry::is_unsafe;
use std::collections::HashSet;

/// Tools of one plugin, texts of one tool and of all: they are sent to every client and read by every model.
const MAX_TOOLS: usize = 256;
const MAX_NAME: usize = 64;
const MAX_DESCRIPTION: usize = 4 << 10;
const MAX_TEXT: usize = 256 << 10;

/// A tool that is not accepted, and why.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's sentence says what its fields are")]
pub enum OfferError {
    #[error("it offers no tools")]
    Nothing,
    #[error("it offers {0} tools, more than {MAX_TOOLS}")]
    TooMany(usize),
    #[error("its tools' texts are {0} bytes in all, more than {MAX_TEXT}")]
    TooMuchText(usize),
    #[error("the tool name {0:?} is not 1 to {MAX_NAME} of A-Z a-z 0-9 _ -")]
    Name(String),
    #[error("it offers two tools named `{0}`")]
    Twice(String),
    #[error("the {what} of tool `{tool}` {problem}")]
    Text { tool: String, what: &'static str, problem: String },
    #[error("the {which} schema of tool `{tool}` is refused: {error}")]
    Schema { tool: String, which: &'static str, error: SchemaError },
}

/// Checks and compiles what a component listed, sorted by name so that lists never depend on a guest's mood.
pub(super) fn check(mut tools: Vec<Tool>) -> Result<Vec<PluginTool>, OfferError> {
    match tools.len() {
        0 => return Err(OfferError::Nothing),
        count if count > MAX_TOOLS => return Err(OfferError::TooMany(count)),
        _ => {}
    }
    let text: usize = tools.iter().map(|tool| tool.description.len() + tool.input_schema.len()).sum();
    if text > MAX_TEXT {
        return Err(OfferError::TooMuchText(text));
    }
    let mut names = HashSet::new();
    for tool in &tools {
        if !is_name(&tool.name) {
            return Err(OfferError::Name(tool.name.chars().take(80).collect()));
        }
        if !names.insert(tool.name.clone()) {
            return Err(OfferError::Twice(tool.name.clone()));
        }
        texts(tool)?;
    }
    tools.sort_by(|a, b| a.name.cmp(&b.name));
    tools.into_iter().map(compile).collect()
}

/// Whether MCP and every client accept it as a tool's name.
pub(super) fn is_name(name: &str) -> bool {
    (1..=MAX_NAME).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

fn texts(tool: &Tool) -> Result<(), OfferError> {
    let fail = |what, problem: String| Err(OfferError::Text { tool: tool.name.clone(), what, problem });
    let icons = tool.icons.iter().map(|icon| ("icon", icon.src.as_str(), usize::MAX));
    let title = tool.title.iter().map(|title| ("title", title.as_str(), 200));
    let description = std::iter::once(("description", tool.description.as_str(), MAX_DESCRIPTION));
    for (what, text, limit) in title.chain(description).chain(icons) {
        if text.len() > limit {
            return fail(what, format!("is {} bytes, more than {limit}", text.len()));
        }
        if let Some(c) = text.chars().find(|&c| is_unsafe(c) && c != '\n' && c != '\t') {
            return fail(what, format!("has the control or invisible character {}", c.escape_unicode()));
        }
    }
    match tool.icons.iter().find(|icon| !icon.src.starts_with("https:") && !icon.src.starts_with("data:")) {
        Some(icon) => {
            fail("icon", format!("{:?} is neither https: nor data:", icon.src.chars().take(80).collect::<String>()))
        }
        None => Ok(()),
    }
}

fn compile(tool: Tool) -> Result<PluginTool, OfferError> {
    let schema = |which, text: &str| {
        Schema::compile(text).map_err(|error| OfferError::Schema { tool: tool.name.clone(), which, error })
    };
    let input = schema("input", &tool.input_schema)?;
    let output = tool.output_schema.as_deref().map(|text| schema("output", text)).transpose()?;
    Ok(PluginTool { tool, input, output })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str) -> Tool {
        Tool {
            name: name.into(),
            title: None,
            description: "Does it.".into(),
            input_schema: r#"{"type":"object"}"#.into(),
            output_schema: None,
            annotations: Default::default(),
            execution: crate::imports::Execution::Inline,
            icons: vec![],
        }
    }

    #[test]
    fn sorts_and_refuses() {
        let names: Vec<_> = check(vec![tool("b"), tool("a")]).unwrap().into_iter().map(|t| t.tool.name).collect();
        assert_eq!(names, ["a", "b"]);
        let broken = |change: fn(&mut Tool)| {
            let mut bad = tool("a");
            change(&mut bad);
            check(vec![bad]).map(|_| ()).unwrap_err()
        };
        assert_eq!(check(vec![]).map(|_| ()).unwrap_err(), OfferError::Nothing);
        assert_eq!(check(vec![tool("a"), tool("a")]).map(|_| ()).unwrap_err(), OfferError::Twice("a".into()));
        assert!(matches!(broken(|t| t.name = "a b".into()), OfferError::Name(_)));
        assert!(matches!(broken(|t| t.name = "rеad".into()), OfferError::Name(_)), "a Cyrillic letter");
        assert!(matches!(broken(|t| t.description = "x\u{e0041}".into()), OfferError::Text { .. }));
        assert!(matches!(broken(|t| t.description = "x\u{1b}[2J".into()), OfferError::Text { .. }));
        assert!(matches!(broken(|t| t.input_schema = "{".into()), OfferError::Schema { .. }));
    }
}
