//! Parses the endpoint's response, which is not trusted to be well-formed.

use platform::text::truncate_chars;
use runtime::imports::{ModelAnswer, Role, SampleAnswer, SampleContent, TokenUsage, ToolUse};
use serde::Deserialize;
use serde_json::Value;

/// Characters of an unknown stop reason that are passed on.
const MAX_REASON: usize = 64;

#[derive(Deserialize)]
struct Completion {
    choices: Vec<Choice>,
    model: Option<String>,
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct Choice {
    message: Message,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Message {
    content: Option<Text>,
    refusal: Option<String>,
    tool_calls: Option<Vec<ToolCall>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Text {
    Whole(String),
    Parts(Vec<Part>),
}

#[derive(Deserialize)]
struct Part {
    text: Option<String>,
}

#[derive(Deserialize)]
struct ToolCall {
    id: Option<String>,
    function: Function,
}

#[derive(Deserialize)]
struct Function {
    name: String,
    arguments: Option<Value>,
}

#[derive(Deserialize)]
struct Usage {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
}

/// Parses a response; the error is a sentence that contains nothing of it. `asked` is the configured name of the model.
pub(super) fn read(body: &[u8], asked: &str) -> Result<ModelAnswer, String> {
    let completion: Completion = serde_json::from_slice(body).map_err(|error| {
        let (kind, at) = (error.classify(), error.column());
        format!("it is not a chat completion ({kind:?} error in line {}, column {at})", error.line())
    })?;
    let choice = completion.choices.into_iter().next().ok_or("it has no choices")?;
    let Message { content, refusal, tool_calls } = choice.message;
    let mut pieces = Vec::new();
    match content {
        Some(Text::Whole(text)) => pieces.push(text),
        Some(Text::Parts(parts)) => pieces.extend(parts.into_iter().filter_map(|part| part.text)),
        None => {}
    }
    pieces.extend(refusal);
    pieces.retain(|text| !text.is_empty());
    let mut content: Vec<SampleContent> = pieces.into_iter().map(SampleContent::Text).collect();
    for (at, call) in tool_calls.unwrap_or_default().into_iter().enumerate() {
        content.push(SampleContent::ToolUse(tool_use(at, call)?));
    }
    if content.is_empty() {
        content.push(SampleContent::Text(String::new()));
    }
    let tokens = completion.usage.map_or_else(TokenUsage::default, |usage| TokenUsage {
        input: usage.prompt_tokens.unwrap_or_default(),
        output: usage.completion_tokens.unwrap_or_default(),
    });
    let model = completion.model.filter(|model| !model.is_empty()).unwrap_or_else(|| asked.to_owned());
    let stop_reason = choice.finish_reason.map(stop_reason);
    Ok(ModelAnswer { answer: SampleAnswer { role: Role::Assistant, content, model, stop_reason }, tokens })
}

fn tool_use(at: usize, call: ToolCall) -> Result<ToolUse, String> {
    let object = match call.function.arguments {
        None => Some(Value::Object(Default::default())),
        Some(Value::String(text)) if text.trim().is_empty() => Some(Value::Object(Default::default())),
        // In this API, arguments are JSON text inside JSON.
        Some(Value::String(text)) => serde_json::from_str(&text).ok(),
        Some(value) => Some(value),
    };
    let input = object.filter(Value::is_object).ok_or("it wants a tool with arguments that are no JSON object")?;
    let id = call.id.filter(|id| !id.is_empty()).unwrap_or_else(|| format!("call-{}", at + 1));
    Ok(ToolUse { id, name: call.function.name, input: input.to_string() })
}

/// The stop reason, in MCP's terms where there is one.
fn stop_reason(reason: String) -> String {
    match reason.as_str() {
        "stop" => "endTurn".into(),
        "length" => "maxTokens".into(),
        "tool_calls" | "function_call" => "toolUse".into(),
        other => truncate_chars(other, MAX_REASON).to_owned(),
    }
}
