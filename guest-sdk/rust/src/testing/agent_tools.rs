//! Agent tools, answered by closures.

use serde_json::Value;

use super::state::agent_tools::AgentCall;
use super::state::with;
use crate::host_types::agent_tools::{AgentError, AgentResult, CallOptions, Origin};
use crate::{ContentData, Execution, Tool, ToolAnnotations, ToolResult};

pub(crate) fn list_agent_tools() -> Vec<Tool> {
    with(|state| state.agent_tools.keys().map(|name| anything(name)).collect())
}

pub(crate) fn call_agent_tool(name: &str, arguments: &str, options: &CallOptions) -> Result<AgentResult, AgentError> {
    let arguments: Value =
        serde_json::from_str(arguments).map_err(|error| AgentError::InvalidArguments(error.to_string()))?;
    if !arguments.is_object() {
        return Err(AgentError::InvalidArguments("arguments are a JSON object".into()));
    }
    // The borrow ends before the tool runs, since the tool may use the fake host itself.
    let tool = with(|state| {
        let call = AgentCall { name: name.to_owned(), arguments: arguments.clone(), options: options.clone() };
        state.agent_calls.push(call);
        state.agent_tools.get(name).cloned()
    });
    let tool = tool.ok_or_else(|| AgentError::UnknownTool(name.to_owned()))?;
    let Ok(mut tool) = tool.try_borrow_mut() else { return Err(AgentError::Cycle(name.to_owned())) };
    match tool(arguments) {
        Ok(result) if result.is_error => Err(AgentError::ToolError(Box::new(result))),
        Ok(ToolResult { content, structured, .. }) => {
            let component = name.split('.').next().unwrap_or_default().to_owned();
            Ok(AgentResult { content, structured, origin: Origin::Component(component), private: false, edited: None })
        }
        Err(error) => Err(error),
    }
}

pub(crate) fn call_agent_tools(calls: &[(String, String, CallOptions)]) -> Vec<Result<AgentResult, AgentError>> {
    calls.iter().map(|(name, arguments, options)| call_agent_tool(name, arguments, options)).collect()
}

/// A closure has no schema, so the fake tool accepts any object.
fn anything(name: &str) -> Tool {
    Tool {
        name: name.to_owned(),
        title: None,
        description: "A fake agent tool.".into(),
        input_schema: r#"{"type":"object"}"#.into(),
        output_schema: None,
        annotations: ToolAnnotations { read_only: None, destructive: None, idempotent: None, open_world: None },
        execution: Execution::Inline,
        icons: Vec::new(),
    }
}

/// Converts a closure's answer to a tool's result.
pub(super) fn answer(value: &Value) -> ToolResult {
    let text = value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
    ToolResult {
        content: vec![ContentData::Text(text).into()],
        structured: value.is_object().then(|| value.to_string()),
        is_error: false,
    }
}
