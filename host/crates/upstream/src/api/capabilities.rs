//! The client capabilities that are declared to a server.

use protocol::names::{CLIENT_TOOLS, PARTIAL_RESULTS, TASKS};
use rmcp::model::ClientCapabilities;
use runtime::imports::Abilities;
use serde_json::{Map, Value, json};

/// Declares the questions that can be answered, partial results, the offered tools and, with `tasks`, that calls may become tasks.
pub(crate) fn to_client_capabilities(
    abilities: Abilities,
    offer: Option<Map<String, Value>>,
    tasks: bool,
) -> ClientCapabilities {
    let mut declared = json!({ "extensions": { PARTIAL_RESULTS: {} } });
    if tasks {
        declared["extensions"][TASKS] = json!({});
    }
    if let Some(offer) = offer {
        declared["extensions"][CLIENT_TOOLS] = offer.into();
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
    // Cannot fail: the JSON has the type's format.
    serde_json::from_value(declared).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_available_capabilities_are_declared() {
        let none = serde_json::to_value(to_client_capabilities(Abilities::default(), None, false)).unwrap();
        assert_eq!(none, json!({ "extensions": { PARTIAL_RESULTS: {} } }));
        let all = Abilities { form: true, url: true, sample: true, sample_tools: true, roots: true };
        let offered = Map::from_iter([("allowServerCalls".to_owned(), Value::Bool(true))]);
        let all = serde_json::to_value(to_client_capabilities(all, Some(offered), true)).unwrap();
        assert_eq!(all["elicitation"], json!({ "form": {}, "url": {} }));
        assert_eq!(all["sampling"], json!({ "tools": {} }));
        assert!(all["roots"].is_object() && all["extensions"][TASKS].is_object());
        assert_eq!(all["extensions"][CLIENT_TOOLS]["allowServerCalls"], true);
    }
}
