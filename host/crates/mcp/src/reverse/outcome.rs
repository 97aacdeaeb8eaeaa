//! Converts a client's answer to a reverse call for the plugin. The answer is untrusted and may have any shape.

use platform::text::truncate_chars;
use protocol::content::from_block;
use protocol::names::{EDITED_META, PRIVATE_META};
use rmcp::model::CallToolResult;
use runtime::imports::{AgentError, AgentResult, BudgetKind, Exhaustion, Origin, ToolResult};
use serde_json::Value;
use std::time::Duration;

/// Characters of a client's error message that the plugin receives.
const MAX_MESSAGE: usize = 1_000;

/// The call that an outcome belongs to.
pub(super) struct CallInfo<'a> {
    pub(super) name: &'a str,
    /// Whether the tool is declared private.
    pub(super) private: bool,
    pub(super) timeout: Duration,
    /// Calls that the request has made so far.
    pub(super) calls: u64,
}

/// Parses an outcome; the flag says whether it is private.
pub(super) fn parse(outcome: Value, call: &CallInfo<'_>) -> (Result<AgentResult, AgentError>, bool) {
    let private = call.private || outcome["_meta"][PRIVATE_META] == true;
    if let Some(error) = outcome.get("error").filter(|error| error.is_object()) {
        let code = error["code"].as_str().unwrap_or_default();
        return (Err(error_from_code(code, error["message"].as_str().unwrap_or_default(), call)), private);
    }
    if !outcome.is_object() {
        return (Err(AgentError::Failed("the client's answer is neither a result nor an error".into())), private);
    }
    (parse_result(outcome), private)
}

fn parse_result(outcome: Value) -> Result<AgentResult, AgentError> {
    let failed =
        |why: String| AgentError::Failed(format!("the client's answer is not a tool result: {}", truncate(&why)));
    let edited = Some(&outcome["_meta"][EDITED_META]).filter(|edited| edited.is_object()).map(Value::to_string);
    let result: CallToolResult = serde_json::from_value(outcome).map_err(|error| failed(error.to_string()))?;
    let content = result.content.into_iter().map(from_block).collect::<Result<Vec<_>, _>>().map_err(failed)?;
    let structured = result.structured_content.map(|value| value.to_string());
    if result.is_error == Some(true) {
        return Err(AgentError::ToolError(ToolResult { content, structured, is_error: true }));
    }
    Ok(AgentResult { content, structured, origin: Origin::Client, edited })
}

fn error_from_code(code: &str, message: &str, call: &CallInfo<'_>) -> AgentError {
    let message_or = |default: &str| if message.is_empty() { default.to_owned() } else { truncate(message) };
    match code {
        "declined" => AgentError::Declined(message_or("the client declined the call")),
        "unknown-tool" => AgentError::UnknownTool(call.name.to_owned()),
        "invalid-arguments" => AgentError::InvalidArguments(message_or("the client rejected them")),
        "timeout" => timeout_error(call.timeout),
        "cancelled" => AgentError::Cancelled,
        "exhausted" => AgentError::Exhausted(Exhaustion { budget: BudgetKind::Calls, limit: call.calls }),
        _ => AgentError::Failed(message_or("the tool failed on the client's side")),
    }
}

pub(super) fn timeout_error(timeout: Duration) -> AgentError {
    AgentError::Timeout(u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX))
}

pub(super) fn truncate(message: &str) -> String {
    truncate_chars(message, MAX_MESSAGE).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use runtime::imports::Content;
    use serde_json::json;

    fn parsed(outcome: Value, private: bool) -> (Result<AgentResult, AgentError>, bool) {
        parse(outcome, &CallInfo { name: "t", private, timeout: Duration::from_secs(2), calls: 7 })
    }

    #[test]
    fn results_have_an_origin_and_may_be_private() {
        let (result, private) =
            parsed(json!({"content": [{"type": "text", "text": "hi"}], "structuredContent": {"n": 1}}), false);
        let result = result.unwrap();
        assert_eq!((result.content, result.structured.as_deref()), (vec![Content::text("hi")], Some(r#"{"n":1}"#)));
        assert_eq!((result.origin, private, result.edited), (Origin::Client, false, None));
        assert!(parsed(json!({"content": []}), true).1, "as the tool");
        let meta = json!({"content": [], "_meta": {PRIVATE_META: true, EDITED_META: {"day": 2}}});
        let (result, private) = parsed(meta, false);
        assert_eq!((private, result.unwrap().edited.as_deref()), (true, Some(r#"{"day":2}"#)));
        // Edited arguments are an object.
        assert_eq!(parsed(json!({"content": [], "_meta": {EDITED_META: "day"}}), false).0.unwrap().edited, None);
    }

    #[test]
    fn an_error_result_is_a_tool_error() {
        let (result, private) = parsed(json!({"content": [{"type": "text", "text": "no"}], "isError": true}), true);
        let content = vec![Content::text("no")];
        assert_eq!(result, Err(AgentError::ToolError(ToolResult { content, structured: None, is_error: true })));
        assert!(private);
        let error = json!({"error": {"code": "declined"}, "_meta": {PRIVATE_META: true}});
        assert!(parsed(error, false).1 && parsed(json!(null), true).1);
    }

    #[test]
    fn error_codes_become_typed_errors() {
        let error = |code: &str| parsed(json!({"error": {"code": code, "message": "why"}}), false).0.unwrap_err();
        assert_eq!(error("declined"), AgentError::Declined("why".into()));
        assert_eq!(error("unknown-tool"), AgentError::UnknownTool("t".into()));
        assert_eq!(error("invalid-arguments"), AgentError::InvalidArguments("why".into()));
        assert_eq!(error("timeout"), AgentError::Timeout(2_000));
        assert_eq!(error("cancelled"), AgentError::Cancelled);
        assert_eq!(error("exhausted"), AgentError::Exhausted(Exhaustion { budget: BudgetKind::Calls, limit: 7 }));
        for other in ["failed", "", "denied", "something new"] {
            assert_eq!(error(other), AgentError::Failed("why".into()), "{other}");
        }
    }

    #[test]
    fn malformed_outcomes_are_failures() {
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
            match parsed(nonsense.clone(), false).0 {
                Err(AgentError::Failed(why)) => assert!(!why.is_empty() && why.len() < 1_100, "{why}"),
                other => panic!("{nonsense}: {other:?}"),
            }
        }
    }
}
