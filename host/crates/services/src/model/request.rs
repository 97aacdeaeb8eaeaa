//! Converts a guest's request for the endpoint. What the endpoint cannot express is refused, never dropped.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use policy::is_name;
use runtime::imports::{
    Blob, Content, ContentData, ResourceBody, Role, SampleContent, SampleMessage, SampleRequest, ToolChoice,
    ToolOutcome, ToolUse,
};
use serde_json::{Map, Value, json};

/// Length of the second part of a media type, as in RFC 6838.
const MAX_MEDIA_TYPE: usize = 127;

/// The request body; the error is a sentence for the guest.
pub(super) fn body(request: &SampleRequest, model: &str, max_tokens: u32) -> Result<Value, String> {
    let mut body = Map::new();
    let mut set = |key: &str, value: Value| drop(body.insert(key.to_owned(), value));
    set("model", model.into());
    set("messages", messages(request)?.into());
    // Most endpoints do not know newer names of this field.
    set("max_tokens", request.max_tokens.min(max_tokens).into());
    set("stream", false.into());
    if let Some(temperature) = request.temperature {
        set("temperature", temperature.into());
    }
    if !request.stop_sequences.is_empty() {
        set("stop", json!(request.stop_sequences));
    }
    if !request.tools.is_empty() {
        set("tools", request.tools.iter().map(tool).collect());
        if let Some(choice) = request.tool_choice {
            let choice = match choice {
                ToolChoice::Auto => "auto",
                ToolChoice::Required => "required",
                ToolChoice::None => "none",
            };
            set("tool_choice", choice.into());
        }
    }
    Ok(body.into())
}

fn tool(tool: &runtime::imports::SampleTool) -> Value {
    // Was checked to be JSON before the question was asked.
    let parameters: Value = serde_json::from_str(&tool.input_schema).unwrap_or_default();
    let mut function = json!({ "name": tool.name, "parameters": parameters });
    if let Some(description) = &tool.description {
        function["description"] = description.as_str().into();
    }
    json!({ "type": "function", "function": function })
}

fn messages(request: &SampleRequest) -> Result<Vec<Value>, String> {
    let mut all = Vec::with_capacity(request.messages.len() + 1);
    if let Some(system) = &request.system_prompt {
        all.push(json!({ "role": "system", "content": system }));
    }
    for message in &request.messages {
        match message.role {
            Role::User => user(message, &mut all)?,
            Role::Assistant => all.push(assistant(message)?),
        }
    }
    Ok(all)
}

/// Tool results are separate messages that must directly follow the message that requested them, so they go first.
fn user(message: &SampleMessage, all: &mut Vec<Value>) -> Result<(), String> {
    let (mut parts, mut texts) = (Vec::new(), Vec::new());
    for piece in &message.content {
        match piece {
            SampleContent::Text(text) => {
                texts.push(text.as_str());
                parts.push(json!({ "type": "text", "text": text }));
            }
            SampleContent::Image(blob) => parts.push(image(blob)?),
            SampleContent::Audio(blob) => parts.push(audio(blob)?),
            SampleContent::ToolResult(outcome) => {
                all.push(json!({ "role": "tool", "tool_call_id": outcome.id, "content": result(outcome)? }));
            }
            SampleContent::ToolUse(_) => return Err("a message of the user cannot use tools".into()),
        }
    }
    if !parts.is_empty() {
        // Text-only models take a string, not a list of parts.
        let content = if texts.len() == parts.len() { texts.join("\n").into() } else { Value::from(parts) };
        all.push(json!({ "role": "user", "content": content }));
    }
    Ok(())
}

fn assistant(message: &SampleMessage) -> Result<Value, String> {
    let (mut texts, mut calls) = (Vec::new(), Vec::new());
    for piece in &message.content {
        match piece {
            SampleContent::Text(text) => texts.push(text.as_str()),
            SampleContent::ToolUse(ToolUse { id, name, input }) => {
                calls.push(json!({ "id": id, "type": "function", "function": { "name": name, "arguments": input } }));
            }
            SampleContent::Image(_) | SampleContent::Audio(_) => {
                return Err("the host's model takes images and sound from the user only".into());
            }
            SampleContent::ToolResult(_) => {
                return Err("a message of the assistant cannot have results of tools".into());
            }
        }
    }
    let content = if texts.is_empty() { Value::Null } else { texts.join("\n").into() };
    let mut message = json!({ "role": "assistant", "content": content });
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    Ok(message)
}

/// The API takes only text, and has no field for failure.
fn result(outcome: &ToolOutcome) -> Result<String, String> {
    let texts: Vec<&str> = outcome.content.iter().map(text).collect::<Result<_, _>>()?;
    let said = match &outcome.structured {
        Some(structured) if texts.is_empty() => structured.clone(),
        _ => texts.join("\n"),
    };
    Ok(if outcome.is_error { format!("The tool failed: {said}") } else { said })
}

fn text(content: &Content) -> Result<&str, String> {
    match &content.data {
        ContentData::Text(text) => Ok(text),
        ContentData::ResourceLink(link) => Ok(&link.uri),
        ContentData::Resource(resource) => match &resource.body {
            ResourceBody::Text(text) => Ok(text),
            ResourceBody::Blob(_) => Err("the host's model takes only text as a tool's result".into()),
        },
        ContentData::Image(_) | ContentData::Audio(_) => {
            Err("the host's model takes only text as a tool's result".into())
        }
    }
}

fn image(blob: &Blob) -> Result<Value, String> {
    // The media type becomes part of a URL, so it must be a plain name.
    if !blob.mime_type.strip_prefix("image/").is_some_and(|name| is_name(name, MAX_MEDIA_TYPE, "+-.")) {
        return Err("an image's media type must be image/ and a plain name, such as image/png".into());
    }
    let url = format!("data:{};base64,{}", blob.mime_type, BASE64.encode(&blob.data));
    Ok(json!({ "type": "image_url", "image_url": { "url": url } }))
}

fn audio(blob: &Blob) -> Result<Value, String> {
    let format = match blob.mime_type.as_str() {
        "audio/wav" | "audio/x-wav" | "audio/wave" => "wav",
        "audio/mpeg" | "audio/mp3" => "mp3",
        _ => return Err("the host's model takes sound as audio/wav or audio/mpeg only".into()),
    };
    Ok(json!({ "type": "input_audio", "input_audio": { "data": BASE64.encode(&blob.data), "format": format } }))
}
