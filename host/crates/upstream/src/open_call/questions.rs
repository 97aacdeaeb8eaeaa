//! Checks and converts a server's questions, and converts the replies to protocol results.

use platform::telemetry::printable;
use policy::is_name;
use protocol::names::SOURCE_META;
use rmcp::model::{self as m, ElicitRequestParams, InputRequest, RequestMetaObject};
use runtime::imports::{
    Author, CheckedQuestion, ClientReply, Consent, FormSchema, ModelPreferences, Role, SampleMessage, SampleRequest,
    SampleTool, ToolChoice,
};
use serde_json::{Value, json};

/// Length of a message to a user, and size of a request to a model, in bytes. Bounds what a server makes somebody read
/// or pay for.
const MAX_MESSAGE: usize = 8 << 10;
const MAX_SAMPLE: u64 = 4 << 20;
/// Length of a page's URL, in bytes.
const MAX_URL: usize = 8 << 10;
/// Length of a plugin's name, in bytes.
const MAX_PLUGIN: usize = 100;
/// Most tokens that one request to a model may ask for.
const MAX_TOKENS: u32 = 64_000;

/// A question of a server.
pub(crate) struct ServerQuestion {
    pub(crate) question: CheckedQuestion,
    /// The plugin that the server says it comes from.
    pub(crate) plugin: Option<String>,
}

impl ServerQuestion {
    pub(crate) fn new(question: CheckedQuestion, meta: Option<&RequestMetaObject>) -> Self {
        let plugin = meta.and_then(|meta| meta.get(SOURCE_META)?.get("plugin")?.as_str());
        // Names of the agent's own components have a dot in front of them.
        let plugin = plugin.filter(|plugin| is_name(plugin, MAX_PLUGIN, "-_")).map(str::to_owned);
        Self { question, plugin }
    }

    /// The question for an agent, which shows the plugin itself: the text loses the plugin's name, which others see in front.
    pub(crate) fn for_agent(mut self) -> (CheckedQuestion, Option<String>) {
        if let (Some(plugin), CheckedQuestion::Form { message, .. } | CheckedQuestion::Url { message, .. }) =
            (&self.plugin, &mut self.question)
            && let Some(text) = message.strip_prefix(&Author::Plugin.prefix(plugin))
        {
            *message = text.to_owned();
        }
        (self.question, self.plugin)
    }
}

/// Checks a question. The error is a sentence.
pub(crate) fn check(request: InputRequest) -> Result<ServerQuestion, String> {
    let (question, extensions) = match request {
        InputRequest::Elicitation(request) => (check_elicitation(request.params)?, request.extensions),
        InputRequest::CreateMessage(request) => {
            (CheckedQuestion::Sample(check_sampling(request.params)?), request.extensions)
        }
        InputRequest::ListRoots(request) => (CheckedQuestion::Roots, request.extensions),
        _ => return Err("the question is of an unknown kind".into()),
    };
    // The library takes `_meta` out of the parameters.
    Ok(ServerQuestion::new(question, extensions.get()))
}

/// Checks a form or a page. Refuses a form that asks for a secret or is not flat.
pub(crate) fn check_elicitation(params: ElicitRequestParams) -> Result<CheckedQuestion, String> {
    match params {
        ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } => {
            let text = serde_json::to_string(&requested_schema).map_err(|error| error.to_string())?;
            Ok(CheckedQuestion::Form { message: check_message(message)?, schema: FormSchema::new(&text)? })
        }
        ElicitRequestParams::UrlElicitationParams { message, url, .. } => {
            let parsed = url::Url::parse(&url).map_err(|error| format!("its URL is invalid: {error}"))?;
            if url.len() > MAX_URL || !matches!(parsed.scheme(), "https" | "http") {
                return Err("its URL is too long or not http or https".into());
            }
            Ok(CheckedQuestion::Url { message: check_message(message)?, url: parsed.into(), connect: None })
        }
        _ => Err("the question is of an unknown kind".into()),
    }
}

fn check_message(message: String) -> Result<String, String> {
    match message.len() {
        0..=MAX_MESSAGE => Ok(message),
        length => Err(format!("its message is {length} bytes, more than {MAX_MESSAGE}")),
    }
}

/// Checks a request to a model.
pub(crate) fn check_sampling(params: m::CreateMessageRequestParams) -> Result<SampleRequest, String> {
    if params.max_tokens == 0 || params.max_tokens > MAX_TOKENS {
        return Err(format!("it asks for {} tokens, which is not 1 to {MAX_TOKENS}", params.max_tokens));
    }
    let message = |message: m::SamplingMessage| {
        let role = match message.role {
            m::Role::Assistant => Role::Assistant,
            _ => Role::User,
        };
        let content = message
            .content
            .into_vec()
            .into_iter()
            .map(protocol::sampling::content_from_block)
            .collect::<Result<_, _>>()?;
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
        size if size > MAX_SAMPLE => Err(format!("the request is {size} bytes, more than {MAX_SAMPLE}")),
        _ => Ok(request),
    }
}

/// Converts a reply to the result of the server's request. The error is a sentence.
pub(crate) fn to_result(reply: ClientReply) -> Result<Value, String> {
    let action = |decision| match decision {
        Consent::Accept => "accept",
        Consent::Decline => "decline",
        Consent::Cancel => "cancel",
    };
    match reply {
        // Some servers expect an object even if a form has no fields.
        ClientReply::Form(Consent::Accept, content) => {
            Ok(json!({ "action": "accept", "content": content.unwrap_or_else(|| json!({})) }))
        }
        ClientReply::Form(decision, _) | ClientReply::Url(decision) => Ok(json!({ "action": action(decision) })),
        ClientReply::Sample(answer) => {
            let mut content: Vec<Value> = answer.content.iter().map(protocol::sampling::content_to_json).collect();
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
        ClientReply::Roots(roots) => {
            let root = |root: &runtime::imports::Root| match &root.name {
                Some(name) => json!({ "uri": root.uri, "name": name }),
                None => json!({ "uri": root.uri }),
            };
            Ok(json!({ "roots": roots.iter().map(root).collect::<Vec<_>>() }))
        }
        ClientReply::Missing(reason) | ClientReply::Refused(reason) | ClientReply::Failed(reason) => Err(reason),
    }
}

/// The result that declines a question that failed the check, if its kind has one.
pub(crate) fn decline(request: &InputRequest) -> Option<Value> {
    matches!(request, InputRequest::Elicitation(_)).then(|| json!({ "action": "decline" }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(properties: Value) -> Result<ServerQuestion, String> {
        let request = json!({ "method": "elicitation/create", "params": {
            "mode": "form", "message": "?", "requestedSchema": { "type": "object", "properties": properties },
        }});
        check(serde_json::from_value(request).map_err(|error| error.to_string())?)
    }

    #[test]
    fn a_form_may_not_ask_for_a_secret() {
        let city = form(json!({ "city": { "type": "string" } })).map(|asked| asked.question);
        assert!(matches!(city, Ok(CheckedQuestion::Form { .. })));
        assert!(form(json!({ "password": { "type": "string" } })).is_err_and(|why| why.contains("secret")));
    }

    #[test]
    fn an_agent_is_told_the_plugin_beside_the_text() {
        let asked = |plugin: &str, message: &str| {
            let request = json!({ "method": "elicitation/create", "params": {
                "mode": "url", "message": message, "url": "https://a.example", "elicitationId": "",
                "_meta": { SOURCE_META: { "plugin": plugin } },
            }});
            let (question, plugin) = check(serde_json::from_value(request).unwrap()).ok().unwrap().for_agent();
            let CheckedQuestion::Url { message, .. } = question else { panic!("a page") };
            (plugin, message)
        };
        assert_eq!(asked("travel", "travel asks: Where to?"), (Some("travel".into()), "Where to?".into()));
        assert_eq!(asked("travel", "bank asks: Where to?"), (Some("travel".into()), "bank asks: Where to?".into()));
        for other in [&"x".repeat(101), "agent.files", "", "a b"] {
            assert_eq!(asked(other, "Where to?"), (None, "Where to?".into()));
        }
    }

    #[test]
    fn pages_must_be_http_or_https() {
        let page = |url: &str| {
            let params = json!({ "mode": "url", "message": "?", "url": url, "elicitationId": "" });
            check(serde_json::from_value(json!({ "method": "elicitation/create", "params": params })).unwrap())
        };
        let good = page("https://a.example/x").map(|asked| asked.question);
        assert!(matches!(good, Ok(CheckedQuestion::Url { .. })));
        for bad in ["file:///etc/passwd", "javascript:alert(1)", "nonsense"] {
            assert!(page(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn replies_are_converted_to_results() {
        assert_eq!(to_result(ClientReply::Url(Consent::Cancel)).unwrap(), json!({ "action": "cancel" }));
        let filled = ClientReply::Form(Consent::Accept, Some(json!({ "city": "Rome" })));
        assert_eq!(to_result(filled).unwrap(), json!({ "action": "accept", "content": { "city": "Rome" } }));
        assert!(to_result(ClientReply::Refused("no".into())).is_err());
    }
}
