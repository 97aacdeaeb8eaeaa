//! What we declare to a server.

use mcp::{CLIENT_TOOLS, PARTIAL_RESULTS};
use rmcp::model::ClientCapabilities;
use runtime::imports::Abilities;
use serde_json::{Map, Value, json};

/// What can be asked of us, that we take chunks, and which of our tools may be called, if any.
pub(super) fn capabilities(abilities: Abilities, offered: Option<Map<String, Value>>) -> ClientCapabilities {
    let mut declared = json!({ "extensions": { PARTIAL_RESULTS: {} } });
    if let Some(offered) = offered {
        declared["extensions"][CLIENT_TOOLS] = offered.into();
    }
    let mut elicitation = Map::new();
    if abilities.form {
        elicitation.insert("form".into(), json!({}));
    }
    if abilities.url {
        elicitation.insert("url".into(), json!({}));
    }
    if !elicitation.is_empty() {
        declared["elicitation"] = elicitation.into();
    }
    if abilities.sample {
        declared["sampling"] = if abilities.sample_tools { json!({ "tools": {} }) } else { json!({}) };
    }
    if abilities.roots {
        declared["roots"] = json!({});
    }
    // The shape is the type's own.
    serde_json::from_value(declared).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_declared_that_is_not_there() {
        let none = serde_json::to_value(capabilities(Abilities::default(), None)).unwrap();
        assert_eq!(none, json!({ "extensions": { PARTIAL_RESULTS: {} } }));
        let all = Abilities { form: true, url: true, sample: true, sample_tools: true, roots: true };
        let offered = Map::from_iter([("allowServerCalls".to_owned(), Value::Bool(true))]);
        let all = serde_json::to_value(capabilities(all, Some(offered))).unwrap();
        assert_eq!(all["elicitation"], json!({ "form": {}, "url": {} }));
        assert_eq!(all["sampling"], json!({ "tools": {} }));
        assert!(all["roots"].is_object());
        assert_eq!(all["extensions"][CLIENT_TOOLS]["allowServerCalls"], true);
    }
}
