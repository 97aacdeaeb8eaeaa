//! Checks the tools of an offer and their schemas.

use super::error::OfferError;
use super::list::{check_bounds, sort_distinct};
use super::text::{self, TextCheck};
use runtime::imports::{Schema, Tool};

const MAX_TOOLS: usize = 256;

pub(super) fn check(tools: Vec<Tool>) -> Result<Vec<Tool>, OfferError> {
    let size = |tool: &Tool| {
        let output = tool.output_schema.as_ref().map_or(0, String::len);
        tool.description.len() + tool.input_schema.len() + output + text::optional_size(&[], &tool.icons)
    };
    check_bounds("tools", &tools, MAX_TOOLS, size)?;
    for tool in &tools {
        text::check_name("tool", &tool.name)?;
        let check = TextCheck::new("tool", &tool.name);
        check.title(tool.title.as_ref())?;
        check.description(Some(&tool.description))?;
        check.icons(&tool.icons)?;
    }
    let tools = sort_distinct("tools", tools, |tool| &tool.name)?;
    tools.iter().try_for_each(check_schemas)?;
    Ok(tools)
}

fn check_schemas(tool: &Tool) -> Result<(), OfferError> {
    let check = |which, text: &str| {
        let refused = |error| OfferError::InvalidSchema { tool: tool.name.clone(), which, error };
        let schema = Schema::compile(text).map_err(refused)?;
        let unsafe_text = |problem| OfferError::InvalidSchemaText { tool: tool.name.clone(), which, problem };
        text::check_object_texts(schema.document()).map_err(unsafe_text)
    };
    check("input", &tool.input_schema)?;
    tool.output_schema.as_deref().map_or(Ok(()), |text| check("output", text))
}

#[cfg(test)]
mod tests {
    use super::super::testing::tool;
    use super::*;

    #[test]
    fn tools_are_sorted_and_bad_ones_are_refused() {
        let names: Vec<_> = check(vec![tool("b"), tool("a")]).unwrap().into_iter().map(|tool| tool.name).collect();
        assert_eq!(names, ["a", "b"]);
        let broken = |change: fn(&mut Tool)| {
            let mut bad = tool("a");
            change(&mut bad);
            check(vec![bad]).map(|_| ()).unwrap_err()
        };
        let twice = check(vec![tool("a"), tool("a")]).map(|_| ()).unwrap_err();
        assert_eq!(twice, OfferError::Duplicate { kind: "tools", name: "a".into() });
        assert!(matches!(broken(|t| t.name = "a b".into()), OfferError::InvalidName { .. }));
        assert!(matches!(broken(|t| t.name = "rеad".into()), OfferError::InvalidName { .. }), "a Cyrillic letter");
        assert!(matches!(broken(|t| t.description = "x\u{e0041}".into()), OfferError::InvalidText { .. }));
        assert!(matches!(broken(|t| t.description = "x\u{1b}[2J".into()), OfferError::InvalidText { .. }));
        assert!(matches!(broken(|t| t.input_schema = "{".into()), OfferError::InvalidSchema { .. }));
    }
}
