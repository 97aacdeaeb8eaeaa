//! `sampling/createMessage`: requests to the client's model and its answers.

use super::content::{from_block, to_block};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use rmcp::model as m;
use runtime::imports::{
    Blob, Role, SampleAnswer, SampleContent, SampleMessage, SampleRequest, SampleTool, ToolChoice, ToolOutcome, ToolUse,
};
use serde_json::{Map, Value, json};

/// The parameters of `sampling/createMessage`.
pub fn request_to_json(request: &SampleRequest) -> Value {
    let message = |message: &SampleMessage| {
        let mut content: Vec<Value> = message.content.iter().map(content_to_json).collect();
        // Older clients do not accept a list, so a single block goes without one.
        let content = if content.len() == 1 { content.remove(0) } else { content.into() };
        json!({ "role": role_to_str(message.role), "content": content })
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
    let tool = |tool: &SampleTool| {
        let schema: Value = serde_json::from_str(&tool.input_schema).unwrap_or_default();
        let mut json = json!({ "name": tool.name, "inputSchema": schema });
        if let Some(description) = &tool.description {
            json["description"] = description.as_str().into();
        }
        json
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

pub fn role_to_str(role: Role) -> &'static str {
    match role {
        Role::User => "user",
        Role::Assistant => "assistant",
    }
}

pub fn content_to_json(content: &SampleContent) -> Value {
    let blob_to_json = |kind: &str, Blob { mime_type, data }: &Blob| json!({ "type": kind, "mimeType": mime_type, "data": BASE64.encode(data) });
    match content {
        SampleContent::Text(text) => json!({ "type": "text", "text": text }),
        SampleContent::Image(blob) => blob_to_json("image", blob),
        SampleContent::Audio(blob) => blob_to_json("audio", blob),
        SampleContent::ToolUse(ToolUse { id, name, input }) => {
            let input: Value = serde_json::from_str(input).unwrap_or_else(|_| json!({}));
            json!({ "type": "tool_use", "id": id, "name": name, "input": input })
        }
        SampleContent::ToolResult(ToolOutcome { id, content, structured, is_error }) => {
            let blocks: Vec<m::ContentBlock> = content.iter().cloned().map(to_block).collect();
            let mut json = json!({ "type": "tool_result", "toolUseId": id, "content": blocks, "isError": is_error });
            if let Some(structured) = structured.as_ref().and_then(|text| serde_json::from_str::<Value>(text).ok()) {
                json["structuredContent"] = structured;
            }
            json
        }
    }
}

/// The error is a sentence that says what is wrong with the block.
pub fn content_from_block(block: m::SamplingMessageContentBlock) -> Result<SampleContent, String> {
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
            content: outcome.content.into_iter().map(from_block).collect::<Result<_, String>>()?,
            structured: outcome.structured_content.map(|value| value.to_string()),
            is_error: outcome.is_error.unwrap_or_default(),
        })),
        _ => Err("the model's answer has content of an unknown kind".to_owned()),
    }
}

pub(super) fn answer_from_result(result: m::CreateMessageResult) -> Result<SampleAnswer, String> {
    Ok(SampleAnswer {
        role: match result.message.role {
            m::Role::User => Role::User,
            m::Role::Assistant => Role::Assistant,
            #[allow(unreachable_patterns, reason = "the type may grow")]
            _ => Role::Assistant,
        },
        content: result
            .message
            .content
            .into_vec()
            .into_iter()
            .map(content_from_block)
            .collect::<Result<_, String>>()?,
        model: result.model,
        stop_reason: result.stop_reason,
    })
}
