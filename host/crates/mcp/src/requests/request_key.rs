//! The idempotency key of a request, if it has one.

use crate::idempotency::{CallKey, KeyScope};
use plugins::calls::{CallTarget, PluginCall};
use policy::Principal;
use protocol::names::IDEMPOTENCY_KEY_META;
use rmcp::ErrorData;
use rmcp::model::RequestMetaObject;
use serde_json::Value;

/// The key in `_meta`, or otherwise in the argument that the operator has configured.
pub(super) fn read(
    principal: &Principal,
    name: &str,
    target: &CallTarget,
    meta: &RequestMetaObject,
) -> Result<Option<CallKey>, ErrorData> {
    if !target.is_tool() {
        return Ok(None);
    }
    let invalid = |text: String| ErrorData::invalid_params(text, None);
    let arguments = target.arguments();
    let key = |scope, text| CallKey::new(principal, scope, text, name, &arguments).map(Some).map_err(invalid);
    match meta.get(IDEMPOTENCY_KEY_META) {
        Some(Value::String(text)) => return key(KeyScope::Meta, text.clone()),
        Some(_) => {
            return Err(invalid(format!("_meta[\"{IDEMPOTENCY_KEY_META}\"] must be a string of 1 to 256 bytes")));
        }
        None => {}
    }
    let CallTarget::Plugin(plugin, PluginCall::Tool(tool, _)) = target else { return Ok(None) };
    let Some(argument) = plugin.spec.idempotency.get(&*tool.name) else { return Ok(None) };
    let scope = KeyScope::Argument { tool: name, argument };
    match arguments.get(argument) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => key(scope, text.clone()),
        Some(Value::Number(number)) => key(scope, number.to_string()),
        Some(_) => Err(invalid(format!(
            "the argument `{argument}` is the idempotency key of this tool, and must be a string or a number"
        ))),
    }
}
