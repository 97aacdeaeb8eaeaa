//! The parameters of a reverse call: checks what the plugin has passed, and makes what the client receives.

use crate::client_tools::DeclaredTool;
use platform::text::truncate_chars;
use runtime::imports::{AgentError, Arguments, ReverseCall};
use serde_json::{Value, json};
use std::time::Duration;

/// Characters of a plugin's reason for a call that the client receives.
const MAX_PURPOSE: usize = 1_000;

/// Checks arguments against the tool's input schema.
pub(super) fn check_arguments(arguments: &Arguments, tool: &DeclaredTool) -> Result<(), AgentError> {
    if !arguments.value().is_object() {
        return Err(AgentError::InvalidArguments("they are not a JSON object".into()));
    }
    tool.check(arguments.value()).map_err(AgentError::InvalidArguments)
}

/// The call as the extension describes it; `chain` is the name of its chain.
pub(super) fn to_fields(call: &ReverseCall, timeout: Duration, chain: &str) -> Value {
    let caller = call.lineage.caller().map_or("", |caller| &**caller);
    let strip = |prefix: &str| caller.strip_prefix(prefix)?.strip_prefix('.').map(str::to_owned);
    let tool = strip(&call.plugin.table()).or_else(|| strip(&call.plugin.name));
    let mut fields = json!({
        "name": call.name,
        "arguments": call.arguments.value(),
        "plugin": &*call.plugin.name,
        "tool": tool.unwrap_or_else(|| caller.to_owned()),
        "parent": call.parent,
        "timeoutMs": u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX),
        "chain": chain,
    });
    if let Some(purpose) = &call.purpose {
        fields["purpose"] = truncate_chars(purpose, MAX_PURPOSE).into();
    }
    fields
}
