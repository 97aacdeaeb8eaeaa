//! Finds what well-known clients cannot read in a valid tool: because of it they lose the whole list of tools.

use runtime::imports::{Tool, unportable_parts};
use serde_json::Value;

/// Characters of a description that all clients accept.
const MAX_DESCRIPTION: usize = 1_024;

/// Sentences about a checked tool, for its author and for the operator.
pub fn find_unportable(tool: &Tool) -> Vec<String> {
    let name = &tool.name;
    let mut found = Vec::new();
    if tool.description.chars().nth(MAX_DESCRIPTION).is_some() {
        found.push(format!("the description of tool `{name}` is longer than {MAX_DESCRIPTION} characters"));
    }
    for (which, text) in [("input", Some(&tool.input_schema)), ("output", tool.output_schema.as_ref())] {
        let schema = text.and_then(|text| serde_json::from_str::<Value>(text).ok());
        let parts = schema.as_ref().map(unportable_parts).unwrap_or_default();
        found.extend(parts.into_iter().map(|part| format!("the {which} schema of tool `{name}` {part}")));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::testing::tool;
    use super::*;

    #[test]
    fn the_description_and_both_schemas_are_read() {
        let mut odd = tool("a");
        assert!(find_unportable(&odd).is_empty());
        odd.input_schema = r##"{"type":"object","properties":{"a":{"$ref":"#"}}}"##.into();
        odd.output_schema = Some(r#"{"type":"object","oneOf":[{}]}"#.into());
        odd.description = "é".repeat(1_025);
        let expected = [
            "the description of tool `a` is longer than 1024 characters",
            "the input schema of tool `a` refers to itself",
            "the output schema of tool `a` has `allOf`, `anyOf` or `oneOf` at its root",
        ];
        assert_eq!(find_unportable(&odd), expected);
    }
}
