//! Questions and answers of `client` as the protocol has them: `elicitation/create`, `sampling/createMessage`,
//! `roots/list`, the same in both revisions.

use super::content::{block, content};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use policy::PluginId;
use rmcp::ErrorData;
use rmcp::model::{
    self as m, ClientCapabilities, CreateMessageRequest, ElicitRequest, ElicitRequestParams, InputRequest,
    ListRootsRequest, RequestMetaObject,
};
use rmcp::service::{RequestContext, RoleServer};
use runtime::imports::{
    Abilities, Asked, Blob, Decision, Reply, Role, Root, SampleAnswer, SampleContent, SampleRequest, ToolChoice,
    ToolOutcome, ToolUse,
};
use serde_json::{Map, Value, json};

/// What the client of a request declared that it can answer.
pub(super) fn abilities(context: &RequestContext<RoleServer>) -> Abilities {
    let Some(declared) = context.client_capabilities() else { return Abilities::default() };
    let elicitation = declared.elicitation.as_ref();
    let url = elicitation.is_some_and(|e| e.url.is_some());
    let sampling = declared.sampling.as_ref();
    Abilities {
        // An empty declaration means forms.
        form: elicitation.is_some_and(|e| e.form.is_some() || e.url.is_none()),
        url,
        sample: sampling.is_some(),
        sample_tools: sampling.is_some_and(|s| s.tools.is_some()),
        roots: declared.roots.is_some(),
    }
}

/// What a client would have to declare to have these.
pub(super) fn required(abilities: Abilities, tools: bool) -> ClientCapabilities {
    let mut declared = Map::new();
    let mut elicitation = Map::new();
    if abilities.form {
        elicitation.insert("form".into(), json!({}));
    }
    if abilities.url {
        elicitation.insert("url".into(), json!({}));
    }
    if !elicitation.is_empty() {
        declared.insert("elicitation".into(), elicitation.into());
    }
    if abilities.sample {
        declared.insert("sampling".into(), if abilities.sample_tools { json!({ "tools": {} }) } else { json!({}) });
    }
    if abilities.roots {
        declared.insert("roots".into(), json!({}));
    }
    if tools {
        declared.insert("extensions".into(), json!({ super::CLIENT_TOOLS: { "allowServerCalls": true } }));
    }
    // These shapes are the type's own; the default would name nothing.
    serde_json::from_value(declared.into()).unwrap_or_default()
}

/// A question as a request.
pub(super) fn request(asked: &Asked, plugin: &PluginId, correlation: Option<&str>) -> Result<InputRequest, ErrorData> {
    let failed =
        |error: serde_json::Error| ErrorData::internal_error(format!("a question cannot be put: {error}"), None);
    let mut meta = RequestMetaObject::default();
    meta.insert(super::SOURCE.to_owned(), json!({ "plugin": plugin.name }));
    if let Some(correlation) = correlation {
        meta.insert(super::CORRELATION.to_owned(), correlation.into());
    }
    match asked {
        Asked::Form { message, schema } => {
            // From text, because the order of the properties is the order of the fields.
            let requested_schema = serde_json::from_str(schema.text()).map_err(failed)?;
            let params = ElicitRequestParams::FormElicitationParams {
                meta: Some(meta),
                message: message.clone(),
                requested_schema,
            };
            Ok(InputRequest::Elicitation(ElicitRequest::new(params)))
        }
        Asked::Url { message, url, .. } => {
            let (message, url) = (message.clone(), url.clone());
            let params = ElicitRequestParams::UrlElicitationParams {
                meta: Some(meta),
                message,
                url,
                elicitation_id: String::new(),
            };
            Ok(InputRequest::Elicitation(ElicitRequest::new(params)))
        }
        Asked::Sample(request) => {
            let mut params: m::CreateMessageRequestParams = serde_json::from_value(sample(request)).map_err(failed)?;
            params.meta = Some(meta);
            Ok(InputRequest::CreateMessage(CreateMessageRequest::new(params)))
        }
        Asked::Roots => {
            let mut request = ListRootsRequest::default();
            request.extensions.insert(meta);
            Ok(InputRequest::ListRoots(request))
        }
    }
}

fn sample(request: &SampleRequest) -> Value {
    let message = |message: &runtime::imports::SampleMessage| {
        let mut content: Vec<Value> = message.content.iter().map(sample_content).collect();
        // One piece goes without a list, which is all that older clients know.
        let content = if content.len() == 1 { content.remove(0) } else { content.into() };
        json!({ "role": role(message.role), "content": content })
    };
    let messages: Vec<Value> = request.messages.iter().map(message).collect();
    let mut params = json!({ "messages": messages, "maxTokens": request.max_tokens });
    let mut set = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            params[key] = value;
        }
    };
    set("systemPrompt", request.system_prompt.clone().map(Value::from));
    set("temperature", request.temperature.map(Value::from));
    set("stopSequences", (!request.stop_sequences.is_empty()).then(|| json!(request.stop_sequences)));
    let model = &request.model;
    let mut preferences = Map::new();
    if !model.hints.is_empty() {
        let hints: Vec<Value> = model.hints.iter().map(|name| json!({ "name": name })).collect();
        preferences.insert("hints".into(), hints.into());
    }
    for (key, value) in
        [("costPriority", model.cost), ("speedPriority", model.speed), ("intelligencePriority", model.intelligence)]
    {
        if let Some(value) = value {
            preferences.insert(key.into(), value.into());
        }
    }
    set("modelPreferences", (!preferences.is_empty()).then(|| preferences.into()));
    let tool = |tool: &runtime::imports::SampleTool| {
        let schema: Value = serde_json::from_str(&tool.input_schema).unwrap_or_default();
        let mut shown = json!({ "name": tool.name, "inputSchema": schema });
        if let Some(description) = &tool.description {
            shown["description"] = description.as_str().into();
        }
        shown
    };
    set("tools", (!request.tools.is_empty()).then(|| request.tools.iter().map(tool).collect()));
    set(
        "toolChoice",
        request.tool_choice.map(|choice| {
            json!({ "mode": match choice {
            ToolChoice::Auto => "auto",
            ToolChoice::Required => "required",
            ToolChoice::None => "none",
        } })
        }),
    );
    set("metadata", request.purpose.as_ref().map(|purpose| json!({ "purpose": purpose })));
    params
}

/// A piece of a conversation, as the protocol has it.
pub fn sample_content(content: &SampleContent) -> Value {
    let bytes = |kind: &str, blob: &Blob| json!({ "type": kind, "mimeType": blob.mime_type, "data": BASE64.encode(&blob.data) });
    match content {
        SampleContent::Text(text) => json!({ "type": "text", "text": text }),
        SampleContent::Image(blob) => bytes("image", blob),
        SampleContent::Audio(blob) => bytes("audio", blob),
        SampleContent::ToolUse(ToolUse { id, name, input }) => {
            let input: Value = serde_json::from_str(input).unwrap_or_else(|_| json!({}));
            json!({ "type": "tool_use", "id": id, "name": name, "input": input })
        }
        SampleContent::ToolResult(ToolOutcome { id, content, structured, is_error }) => {
            let blocks: Vec<m::ContentBlock> = content.iter().cloned().map(block).collect();
            let mut shown = json!({ "type": "tool_result", "toolUseId": id, "content": blocks, "isError": is_error });
            if let Some(structured) = structured.as_ref().and_then(|text| serde_json::from_str::<Value>(text).ok()) {
                shown["structuredContent"] = structured;
            }
            shown
        }
    }
}

fn role(role: Role) -> &'static str {
    match role {
        Role::User => "user",
        Role::Assistant => "assistant",
    }
}

/// What a client sent under a question's key. Nothing here trusts it to be of the right shape.
pub(super) fn reply(asked: &Asked, value: Value) -> Reply {
    let odd =
        |what: &str, error: serde_json::Error| Reply::Missing(format!("the client's answer is not {what}: {error}"));
    match asked {
        Asked::Form { .. } | Asked::Url { .. } => match serde_json::from_value::<m::ElicitResult>(value) {
            Ok(result) => {
                let decision = match result.action {
                    m::ElicitationAction::Accept => Decision::Accept,
                    m::ElicitationAction::Decline => Decision::Decline,
                    // What we do not know is no consent.
                    _ => Decision::Cancel,
                };
                match asked {
                    Asked::Url { .. } => Reply::Url(decision),
                    _ => Reply::Form(decision, result.content),
                }
            }
            Err(error) => odd("an elicitation result", error),
        },
        Asked::Sample(_) => match serde_json::from_value::<m::CreateMessageResult>(value) {
            Ok(result) => match sample_answer(result) {
                Ok(answer) => Reply::Sample(answer),
                Err(reason) => Reply::Failed(reason),
            },
            Err(error) => odd("a message of a model", error),
        },
        Asked::Roots => match serde_json::from_value::<m::ListRootsResult>(value) {
            Ok(result) => {
                Reply::Roots(result.roots.into_iter().map(|root| Root { uri: root.uri, name: root.name }).collect())
            }
            Err(error) => odd("a list of roots", error),
        },
    }
}

/// A piece of a conversation, as somebody else sent it.
pub fn sample_piece(block: m::SamplingMessageContentBlock) -> Result<SampleContent, String> {
    let blob = |mime_type: String, data: String| match BASE64.decode(data) {
        Ok(data) => Ok(Blob { mime_type, data }),
        Err(error) => Err(format!("the model's answer has data that is not base64: {error}")),
    };
    match block {
        m::SamplingMessageContentBlock::Text(text) => Ok(SampleContent::Text(text.text)),
        m::SamplingMessageContentBlock::Image(image) => Ok(SampleContent::Image(blob(image.mime_type, image.data)?)),
        m::SamplingMessageContentBlock::Audio(audio) => Ok(SampleContent::Audio(blob(audio.mime_type, audio.data)?)),
        m::SamplingMessageContentBlock::ToolUse(tool) => {
            let input = Value::Object(tool.input).to_string();
            Ok(SampleContent::ToolUse(ToolUse { id: tool.id, name: tool.name, input }))
        }
        m::SamplingMessageContentBlock::ToolResult(outcome) => Ok(SampleContent::ToolResult(ToolOutcome {
            id: outcome.tool_use_id,
            content: outcome.content.into_iter().map(content).collect::<Result<_, String>>()?,
            structured: outcome.structured_content.map(|value| value.to_string()),
            is_error: outcome.is_error.unwrap_or_default(),
        })),
        _ => Err("the model's answer has content of an unknown kind".to_owned()),
    }
}

fn sample_answer(result: m::CreateMessageResult) -> Result<SampleAnswer, String> {
    Ok(SampleAnswer {
        role: match result.message.role {
            m::Role::User => Role::User,
            m::Role::Assistant => Role::Assistant,
            #[allow(unreachable_patterns, reason = "the type may grow")]
            _ => Role::Assistant,
        },
        content: result.message.content.into_vec().into_iter().map(sample_piece).collect::<Result<_, String>>()?,
        model: result.model,
        stop_reason: result.stop_reason,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use policy::Side;
    use runtime::imports::FormSchema;

    #[test]
    fn fields_keep_their_order() {
        let text =
            r#"{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"integer"},"m":{"type":"boolean"}}}"#;
        let asked = Asked::Form { message: "?".into(), schema: FormSchema::new(text).unwrap() };
        let plugin = PluginId { side: Side::Server, name: "p".into() };
        let shown = serde_json::to_string(&request(&asked, &plugin, None).unwrap()).unwrap();
        let at = |name: &str| shown.find(&format!("\"{name}\":")).unwrap();
        assert!(at("z") < at("a") && at("a") < at("m"), "{shown}");
    }
}
