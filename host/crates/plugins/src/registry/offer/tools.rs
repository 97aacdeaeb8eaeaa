//! Tools: names, texts, and schemas compiled.

use super::words::{self, Words};
use super::{OfferError, bounded, sorted};
use crate::registry::plugin::PluginTool;
use runtime::imports::{Schema, Tool};

/// Tools of one plugin.
const MAX_TOOLS: usize = 256;

pub(super) fn check(tools: Vec<Tool>) -> Result<Vec<PluginTool>, OfferError> {
    let size = |tool: &Tool| {
        let output = tool.output_schema.as_ref().map_or(0, String::len);
        tool.description.len() + tool.input_schema.len() + output + words::size(&[], &tool.icons)
    };
    bounded("tools", &tools, MAX_TOOLS, size)?;
    for tool in &tools {
        words::name("tool", &tool.name)?;
        let words = Words::of("tool", &tool.name);
        words.title(tool.title.as_ref())?;
        words.description(Some(&tool.description))?;
        words.icons(&tool.icons)?;
    }
    sorted("tools", tools, |tool| &tool.name)?.into_iter().map(compile).collect()
}

fn compile(tool: Tool) -> Result<PluginTool, OfferError> {
    let schema = |which, text: &str| {
        let refused = |error| OfferError::Schema { tool: tool.name.clone(), which, error };
        let schema = Schema::compile(text).map_err(refused)?;
        let plain = words::plain_object(schema.document());
        plain.map_err(|place| OfferError::SchemaText { tool: tool.name.clone(), which, place })?;
        Ok(schema)
    };
    let input = schema("input", &tool.input_schema)?;
    let output = tool.output_schema.as_deref().map(|text| schema("output", text)).transpose()?;
    Ok(PluginTool { tool, input, output })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::offer::testing::tool;

    #[test]
    fn sorts_and_refuses() {
        let names: Vec<_> = check(vec![tool("b"), tool("a")]).unwrap().into_iter().map(|t| t.tool.name).collect();
        assert_eq!(names, ["a", "b"]);
        let broken = |change: fn(&mut Tool)| {
            let mut bad = tool("a");
            change(&mut bad);
            check(vec![bad]).map(|_| ()).unwrap_err()
        };
        let twice = check(vec![tool("a"), tool("a")]).map(|_| ()).unwrap_err();
        assert_eq!(twice, OfferError::Twice { what: "tools", name: "a".into() });
        assert!(matches!(broken(|t| t.name = "a b".into()), OfferError::Name { .. }));
        assert!(matches!(broken(|t| t.name = "rеad".into()), OfferError::Name { .. }), "a Cyrillic letter");
        assert!(matches!(broken(|t| t.description = "x\u{e0041}".into()), OfferError::Text { .. }));
        assert!(matches!(broken(|t| t.description = "x\u{1b}[2J".into()), OfferError::Text { .. }));
        assert!(matches!(broken(|t| t.input_schema = "{".into()), OfferError::Schema { .. }));
    }
}
