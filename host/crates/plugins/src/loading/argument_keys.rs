//! Checks which arguments the operator named as idempotency keys against what the plugin offers.

use crate::offer::PluginTool;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Each tool and each argument must exist; the error is a sentence. A key for an unknown tool or argument would protect no
/// call, and nobody would notice.
pub(super) fn check(keys: &BTreeMap<String, String>, tools: &[Arc<PluginTool>]) -> Result<(), String> {
    for (name, argument) in keys {
        let Some(tool) = tools.iter().find(|tool| tool.tool.name == *name) else {
            let known = tools.iter().map(|tool| tool.tool.name.as_str()).collect::<Vec<_>>().join(", ");
            return Err(format!("`idempotency` names the tool `{name}`, and it has {known}"));
        };
        let schema: Value = serde_json::from_str(&tool.tool.input_schema).unwrap_or_default();
        let known = schema.get("properties").and_then(Value::as_object);
        if !known.is_some_and(|known| known.contains_key(argument)) {
            let known = known.map(|known| known.keys().map(String::as_str).collect::<Vec<_>>().join(", "));
            let known = known.filter(|known| !known.is_empty()).unwrap_or_else(|| "none that its schema names".into());
            return Err(format!(
                "`idempotency` names the argument `{argument}` of the tool `{name}`, whose arguments are: {known}"
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offer::testing::tool;
    use runtime::imports::Tool;

    #[test]
    fn only_tools_and_arguments_that_exist_are_keys() {
        let schema = r#"{"type":"object","properties":{"order_id":{"type":"string"},"n":{}}}"#;
        let buy = Tool { input_schema: schema.into(), ..tool("buy") };
        let tools = [buy, tool("sell")].map(|tool| PluginTool::new(tool, String::new()));
        let check =
            |tool: &str, argument: &str| check(&BTreeMap::from([(tool.to_owned(), argument.to_owned())]), &tools);
        check("buy", "order_id").unwrap();
        for (tool, argument, said) in [
            ("by", "order_id", "buy, sell"),
            ("buy", "order", "whose arguments are: "),
            ("sell", "x", "none that its schema names"),
        ] {
            let refused = check(tool, argument).unwrap_err();
            assert!(refused.contains(said), "{refused}");
        }
    }
}
