//! What a client answers to a reverse call, as the plugin is told. Nothing here trusts it to be of the right shape.

use crate::content::content;
use rmcp::model::CallToolResult;
use runtime::imports::{AgentError, AgentResult, Budgeted, Exhaustion, Origin, ToolResult};
use serde_json::Value;
use std::time::Duration;

/// `_meta` keys of a result.
const PRIVATE: &str = "dev.portcullis/private";
const EDITED: &str = "dev.portcullis/edited";
/// How much of a client's words about a failure a plugin is told, in characters.
const MAX_WORDS: usize = 1_000;

/// What is known of a call apart from its outcome.
pub(super) struct Asked<'a> {
    pub(super) name: &'a str,
    /// Whether the tool was declared private.
    pub(super) private: bool,
    pub(super) patience: Duration,
    /// Calls that were made so far.
    pub(super) calls: u64,
}

/// An outcome in the plugin's terms, and whether it is private.
pub(super) fn read(outcome: Value, asked: &Asked<'_>) -> (Result<AgentResult, AgentError>, bool) {
    if let Some(error) = outcome.get("error").filter(|error| error.is_object()) {
        let code = error["code"].as_str().unwrap_or_default();
        return (Err(failure(code, error["message"].as_str().unwrap_or_default(), asked)), asked.private);
    }
    if !outcome.is_object() {
        return (Err(AgentError::Failed("the client's answer is neither a result nor an error".into())), asked.private);
    }
    let private = asked.private || outcome["_meta"][PRIVATE] == true;
    (result(outcome, private), private)
}

fn result(outcome: Value, private: bool) -> Result<AgentResult, AgentError> {
    let failed = |why: String| AgentError::Failed(format!("the client's answer is no result of a tool: {}", cut(&why)));
    let edited = Some(&outcome["_meta"][EDITED]).filter(|edited| edited.is_object()).map(Value::to_string);
    let result: CallToolResult = serde_json::from_value(outcome).map_err(|error| failed(error.to_string()))?;
    let content = result.content.into_iter().map(content).collect::<Result<Vec<_>, _>>().map_err(failed)?;
    let structured = result.structured_content.map(|value| value.to_string());
    if result.is_error == Some(true) {
        return Err(AgentError::ToolError(ToolResult { content, structured, is_error: true }));
    }
    Ok(AgentResult { content, structured, origin: Origin::Client, private, edited })
}

/// An error by its code.
pub(super) fn failure(code: &str, message: &str, asked: &Asked<'_>) -> AgentError {
    let words = |otherwise: &str| if message.is_empty() { otherwise.to_owned() } else { cut(message) };
    match code {
        "declined" => AgentError::Declined(words("the client's side said no")),
        "unknown-tool" => AgentError::UnknownTool(asked.name.to_owned()),
        "invalid-arguments" => AgentError::InvalidArguments(words("the client says that they do not suit the tool")),
        "timeout" => timeout(asked.patience),
        "cancelled" => AgentError::Cancelled,
        "exhausted" => AgentError::Exhausted(Exhaustion { budget: Budgeted::Calls, limit: asked.calls }),
        _ => AgentError::Failed(words("the tool failed on the client's side")),
    }
}

/// No answer in time.
pub(super) fn timeout(patience: Duration) -> AgentError {
    AgentError::Timeout(u64::try_from(patience.as_millis()).unwrap_or(u64::MAX))
}

pub(super) fn cut(words: &str) -> String {
    words.chars().take(MAX_WORDS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use runtime::imports::Content;
    use serde_json::json;

    fn told(outcome: Value, private: bool) -> (Result<AgentResult, AgentError>, bool) {
        read(outcome, &Asked { name: "t", private, patience: Duration::from_secs(2), calls: 7 })
    }

    #[test]
    fn results_say_where_they_come_from_and_whether_they_are_private() {
        let (result, private) =
            told(json!({"content": [{"type": "text", "text": "hi"}], "structuredContent": {"n": 1}}), false);
        let result = result.unwrap();
        assert_eq!((result.content, result.structured.as_deref()), (vec![Content::text("hi")], Some(r#"{"n":1}"#)));
        assert_eq!((result.origin, result.private, private, result.edited), (Origin::Client, false, false, None));
        assert!(told(json!({"content": []}), true).0.unwrap().private, "as the tool");
        let meta = json!({"content": [], "_meta": {PRIVATE: true, EDITED: {"day": 2}}});
        let result = told(meta, false).0.unwrap();
        assert_eq!((result.private, result.edited.as_deref()), (true, Some(r#"{"day":2}"#)));
        // Words are no edited arguments.
        assert_eq!(told(json!({"content": [], "_meta": {EDITED: "day"}}), false).0.unwrap().edited, None);
    }

    #[test]
    fn a_tool_that_reports_a_failure_is_no_result() {
        let (result, private) = told(json!({"content": [{"type": "text", "text": "no"}], "isError": true}), true);
        let content = vec![Content::text("no")];
        assert_eq!(result, Err(AgentError::ToolError(ToolResult { content, structured: None, is_error: true })));
        assert!(private);
    }

    #[test]
    fn errors_are_typed_by_their_code() {
        let error = |code: &str| told(json!({"error": {"code": code, "message": "why"}}), false).0.unwrap_err();
        assert_eq!(error("declined"), AgentError::Declined("why".into()));
        assert_eq!(error("unknown-tool"), AgentError::UnknownTool("t".into()));
        assert_eq!(error("invalid-arguments"), AgentError::InvalidArguments("why".into()));
        assert_eq!(error("timeout"), AgentError::Timeout(2_000));
        assert_eq!(error("cancelled"), AgentError::Cancelled);
        assert_eq!(error("exhausted"), AgentError::Exhausted(Exhaustion { budget: Budgeted::Calls, limit: 7 }));
        for other in ["failed", "", "denied", "something new"] {
            assert_eq!(error(other), AgentError::Failed("why".into()), "{other}");
        }
    }

    #[test]
    fn nonsense_is_a_failure() {
        let long = json!({"error": {"message": "x".repeat(5_000)}});
        for nonsense in [
            json!(null),
            json!(7),
            json!([]),
            json!({}),
            json!({"content": "text"}),
            long,
            json!({"content": [{"type": "image", "data": "%", "mimeType": "image/png"}]}),
        ] {
            match told(nonsense.clone(), false).0 {
                Err(AgentError::Failed(why)) => assert!(!why.is_empty() && why.len() < 1_100, "{why}"),
                other => panic!("{nonsense}: {other:?}"),
            }
        }
    }
}
