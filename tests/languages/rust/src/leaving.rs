//! Resources, prompts and events that a call leaves behind.

use std::time::Duration;

use portcullis_guest::{Role, ToolError, events, publish};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Trace {
    Put,
    Append,
    Remove,
    Prompt,
    Forget,
}

pub(crate) fn leave(action: Trace, path: &str, text: String) -> Result<String, ToolError> {
    let minute = Duration::from_secs(60);
    Ok(match action {
        Trace::Put => {
            let left = publish::resource(path).text(text).title("Left").description("What was left.");
            left.mime_type("text/markdown").for_role(Role::User).priority(0.5).ttl(minute).put()?
        }
        Trace::Append => publish::resource(path).text(text).append()?,
        Trace::Remove => {
            publish::remove(path)?;
            "removed".into()
        }
        Trace::Prompt => {
            let prompt = publish::prompt(path).title("Left").description("What was left.").argument("line");
            prompt.user(text).assistant("Yes.").ttl(minute).put()?;
            "left".into()
        }
        Trace::Forget => {
            publish::remove_prompt(path)?;
            "forgotten".into()
        }
    })
}

pub(crate) fn announce(name: &str, text: &str, key: Option<&str>) -> Result<String, ToolError> {
    let payload = json!({ "text": text });
    let is_new = match key {
        Some(key) => events::emit_once(name, key, &payload)?,
        None => {
            events::emit(name, &payload)?;
            true
        }
    };
    Ok(if is_new { "announced" } else { "announced before" }.into())
}
