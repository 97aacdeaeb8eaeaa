//! Does what the script in `path` says, a list of steps, and answers with what came of each, as JSON: `list`, `call`,
//! `many`, `emit` and `ask`. With `n`, an error of the last step becomes its own. `only` is the same as a task only.

use guests::agent_tools::{self, AgentCall, AgentError, AgentResult, CallOptions};
use guests::client::{self, Form, FormAnswer};
use guests::{ContentData, Execution, Tool, ToolError, failed, text};
use serde_json::{Value, json};

guests::manifest!(
    r#"{"name":"agent-calls","version":"0.1.0","description":"","requests":{"agent-tools":["*.*"],"client":{"form":true}}}"#
);

guests::guest! {
    list = vec![
        guests::run_tool(),
        Tool { name: "only".into(), execution: Execution::TaskOnly, ..guests::run_tool() },
    ];
    fn run(args) {
        let steps: Vec<Value> = serde_json::from_str(&args.path_or("[]")).map_err(failed)?;
        let mut said = Vec::new();
        for step in &steps {
            said.push(if step.get("list").is_some() {
                agent_tools::list_tools().into_iter().map(|tool| Value::from(tool.name)).collect()
            } else if let Some(call) = step.get("call") {
                let AgentCall { name, arguments, options } = to_call(call);
                let result = agent_tools::call(&name, &arguments, &options);
                if let (Some(_), Err(error)) = (args.n, &result) {
                    return Err(passed_on(error.clone()));
                }
                shown(result)
            } else if let Some(calls) = step["many"].as_array() {
                let calls: Vec<_> = calls.iter().map(to_call).collect();
                agent_tools::call_many(&calls).into_iter().map(shown).collect()
            } else if let Some(words) = step["emit"].as_str() {
                guests::output::emit(&[text(words)]).map_err(|error| failed(format!("{error:?}")))?.into()
            } else if let Some(key) = step["ask"].as_str() {
                asked(key)
            } else {
                return Err(failed(format!("no such step: {step}")));
            });
        }
        Ok(Value::from(said).to_string().into())
    }
}

fn to_call(call: &Value) -> AgentCall {
    let text = |key: &str| call[key].as_str().map(str::to_owned);
    let options = CallOptions { timeout_ms: call["timeoutMs"].as_u64(), purpose: text("purpose"), chunks: false };
    // `raw` is for arguments that are no object, or no JSON.
    let arguments = text("raw").unwrap_or_else(|| call.get("arguments").unwrap_or(&json!({})).to_string());
    AgentCall { name: text("name").unwrap_or_default(), arguments, options }
}

fn asked(key: &str) -> Value {
    let schema = r#"{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}"#;
    match client::elicit_form(Some(key), &Form { message: "Who?".into(), schema: schema.into() }) {
        Ok(FormAnswer::Accepted(content)) => content.into(),
        other => format!("{other:?}").into(),
    }
}

fn shown(result: Result<AgentResult, AgentError>) -> Value {
    match result {
        Ok(result) => {
            let text = match result.content.into_iter().next().map(|content| content.data) {
                Some(ContentData::Text(words)) => words.into(),
                other => Value::from(format!("{other:?}")),
            };
            let mut shown = json!({ "text": text, "origin": format!("{:?}", result.origin) });
            if let Some(structured) = result.structured {
                shown["structured"] = serde_json::from_str(&structured).unwrap_or_default();
            }
            if result.private {
                shown["private"] = true.into();
            }
            if let Some(edited) = result.edited {
                shown["edited"] = serde_json::from_str(&edited).unwrap_or_default();
            }
            shown
        }
        Err(error) => json!({ "error": kind(&error), "why": format!("{error:?}") }),
    }
}

fn kind(error: &AgentError) -> &'static str {
    match error {
        AgentError::UnknownTool(_) => "unknown-tool",
        AgentError::NotSupported(_) => "not-supported",
        AgentError::Denied(_) => "denied",
        AgentError::Declined(_) => "declined",
        AgentError::Cycle(_) => "cycle",
        AgentError::Timeout(_) => "timeout",
        AgentError::Exhausted(_) => "exhausted",
        AgentError::Cancelled => "cancelled",
        AgentError::InvalidArguments(_) => "invalid-arguments",
        AgentError::ToolError(_) => "tool-error",
        AgentError::Failed(_) => "failed",
    }
}

fn passed_on(error: AgentError) -> ToolError {
    match error {
        AgentError::NotSupported(what) => ToolError::Unsupported(what),
        other => guests::agent_failure(other),
    }
}
