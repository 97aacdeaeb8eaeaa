//! A server's questions in our own words, and the replies in the protocol's.

use platform::telemetry::printable;
use rmcp::model::{self as m, ElicitRequestParams, InputRequest};
use runtime::imports::{
    Asked, Decision, FormSchema, ModelPreferences, Reply, Role, SampleMessage, SampleRequest, SampleTool, ToolChoice,
};
use serde_json::{Value, json};

/// What a question says to a user or a model, in bytes. Bounds what a server makes somebody read, or pay for.
const MAX_MESSAGE: usize = 8 << 10;
const MAX_SAMPLE: u64 = 4 << 20;
/// A page's address.
const MAX_URL: usize = 8 << 10;
/// Tokens of one request to a model.
const MAX_TOKENS: u32 = 64_000;

/// A question, or why it is not put: a sentence.
pub(super) fn asked(request: InputRequest) -> Result<Asked, String> {
    match request {
        InputRequest::Elicitation(request) => elicited(request.params),
        InputRequest::CreateMessage(request) => Ok(Asked::Sample(sample(request.params)?)),
        InputRequest::ListRoots(_) => Ok(Asked::Roots),
        _ => Err("it is of an unknown kind".into()),
    }
}

/// A form or a page. A form that asks for a secret is refused, like one that is not flat.
pub(super) fn elicited(params: ElicitRequestParams) -> Result<Asked, String> {
    match params {
        ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } => {
            let text = serde_json::to_string(&requested_schema).map_err(|error| error.to_string())?;
            Ok(Asked::Form { message: worded(message)?, schema: FormSchema::new(&text)? })
        }
        ElicitRequestParams::UrlElicitationParams { message, url, .. } => {
            let parsed = url::Url::parse(&url).map_err(|error| format!("its address is none: {error}"))?;
            if url.len() > MAX_URL || !matches!(parsed.scheme(), "https" | "http") {
                return Err("its address is too long, or not of the web".into());
            }
            Ok(Asked::Url { message: worded(message)?, url: parsed.into(), connect: None })
        }
        _ => Err("it is of an unknown kind".into()),
    }
}

fn worded(message: String) -> Result<String, String> {
    match message.len() {
        0..=MAX_MESSAGE => Ok(message),
        length => Err(format!("its text is {length} bytes, more than {MAX_MESSAGE}")),
    }
}

/// A request to a model.
pub(super) fn sample(params: m::CreateMessageRequestParams) -> Result<SampleRequest, String> {
    if params.max_tokens == 0 || params.max_tokens > MAX_TOKENS {
        return Err(format!("it asks for {} tokens; 1 to {MAX_TOKENS} can be asked for", params.max_tokens));
    }
    let message = |message: m::SamplingMessage| {
        let role = match message.role {
            m::Role::Assistant => Role::Assistant,
            _ => Role::User,
        };
        let content = message.content.into_vec().into_iter().map(mcp::sample_piece).collect::<Result<_, _>>()?;
        Ok::<_, String>(SampleMessage { role, content })
    };
    let preferences = params.model_preferences.unwrap_or_default();
    let hints = preferences.hints.unwrap_or_default().into_iter().filter_map(|hint| hint.name).take(16).collect();
    let tool = |tool: m::Tool| SampleTool {
        name: tool.name.into_owned(),
        description: tool.description.map(|text| text.into_owned()),
        input_schema: Value::Object((*tool.input_schema).clone()).to_string(),
    };
    let request = SampleRequest {
        messages: params.messages.into_iter().map(message).collect::<Result<_, _>>()?,
        system_prompt: params.system_prompt,
        max_tokens: params.max_tokens,
        temperature: params.temperature.map(f64::from),
        stop_sequences: params.stop_sequences.unwrap_or_default().into_iter().take(16).collect(),
        model: ModelPreferences {
            hints,
            cost: preferences.cost_priority.map(f64::from),
            speed: preferences.speed_priority.map(f64::from),
            intelligence: preferences.intelligence_priority.map(f64::from),
        },
        tools: params.tools.unwrap_or_default().into_iter().map(tool).collect(),
        tool_choice: params.tool_choice.and_then(|choice| choice.mode).map(|mode| match mode {
            m::ToolChoiceMode::Required => ToolChoice::Required,
            m::ToolChoiceMode::None => ToolChoice::None,
            _ => ToolChoice::Auto,
        }),
        purpose: params.metadata.and_then(|meta| Some(printable(meta.get("purpose")?.as_str()?).into_owned())),
    };
    match request.size() {
        size if size > MAX_SAMPLE => Err(format!("it is {size} bytes, more than {MAX_SAMPLE}")),
        _ => Ok(request),
    }
}

/// A reply as the result of the request; or why there is none: a sentence.
pub(super) fn result(reply: Reply) -> Result<Value, String> {
    let action = |decision| match decision {
        Decision::Accept => "accept",
        Decision::Decline => "decline",
        Decision::Cancel => "cancel",
    };
    match reply {
        Reply::Form(Decision::Accept, content) => Ok(json!({ "action": "accept", "content": content })),
        Reply::Form(decision, _) | Reply::Url(decision) => Ok(json!({ "action": action(decision) })),
        Reply::Sample(answer) => {
            let mut content: Vec<Value> = answer.content.iter().map(mcp::sample_content).collect();
            let content = if content.len() == 1 { content.remove(0) } else { content.into() };
            let role = match answer.role {
                Role::User => "user",
                Role::Assistant => "assistant",
            };
            let mut result = json!({ "role": role, "content": content, "model": answer.model });
            if let Some(reason) = answer.stop_reason {
                result["stopReason"] = reason.into();
            }
            Ok(result)
        }
        Reply::Roots(roots) => {
            let root = |root: &runtime::imports::Root| match &root.name {
                Some(name) => json!({ "uri": root.uri, "name": name }),
                None => json!({ "uri": root.uri }),
            };
            Ok(json!({ "roots": roots.iter().map(root).collect::<Vec<_>>() }))
        }
        Reply::Missing(reason) | Reply::Refused(reason) | Reply::Failed(reason) => Err(reason),
    }
}

/// What answers a question that was not put.
pub(super) fn declined(request: &InputRequest) -> Option<Value> {
    matches!(request, InputRequest::Elicitation(_)).then(|| json!({ "action": "decline" }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(properties: Value) -> Result<Asked, String> {
        let request = json!({ "method": "elicitation/create", "params": {
            "mode": "form", "message": "?", "requestedSchema": { "type": "object", "properties": properties },
        }});
        asked(serde_json::from_value(request).map_err(|error| error.to_string())?)
    }

    #[test]
    fn a_form_may_not_ask_for_a_secret() {
        assert!(matches!(form(json!({ "city": { "type": "string" } })), Ok(Asked::Form { .. })));
        assert!(form(json!({ "password": { "type": "string" } })).unwrap_err().contains("secret"));
    }

    #[test]
    fn pages_are_of_the_web() {
        let page = |url: &str| {
            let params = json!({ "mode": "url", "message": "?", "url": url, "elicitationId": "" });
            asked(serde_json::from_value(json!({ "method": "elicitation/create", "params": params })).unwrap())
        };
        assert!(matches!(page("https://a.example/x"), Ok(Asked::Url { .. })));
        for bad in ["file:///etc/passwd", "javascript:alert(1)", "nonsense"] {
            assert!(page(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn replies_have_the_shape_of_results() {
        assert_eq!(result(Reply::Url(Decision::Cancel)).unwrap(), json!({ "action": "cancel" }));
        let filled = Reply::Form(Decision::Accept, Some(json!({ "city": "Rome" })));
        assert_eq!(result(filled).unwrap(), json!({ "action": "accept", "content": { "city": "Rome" } }));
        assert!(result(Reply::Refused("no".into())).is_err());
    }
}
