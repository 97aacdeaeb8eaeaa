//! The mapping, both ways.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use super::{request, response};
use runtime::imports::{
    Blob, Content, ContentData, ModelAnswer, Role, SampleContent as Piece, SampleMessage, SampleRequest, SampleTool,
    TokenUsage, ToolChoice, ToolOutcome, ToolUse,
};
use serde_json::{Value, json};

fn message(role: Role, content: Vec<Piece>) -> SampleMessage {
    SampleMessage { role, content }
}

fn asks(messages: Vec<SampleMessage>) -> SampleRequest {
    SampleRequest { messages, max_tokens: 100, ..SampleRequest::default() }
}

fn outcome(content: Vec<Content>, structured: Option<&str>, is_error: bool) -> Piece {
    Piece::ToolResult(ToolOutcome { id: "c1".into(), content, structured: structured.map(String::from), is_error })
}

fn blob(mime_type: &str) -> Blob {
    Blob { mime_type: mime_type.into(), data: vec![1, 2, 3] }
}

#[test]
fn a_conversation_is_converted() {
    let tool_use = ToolUse { id: "c1".into(), name: "add".into(), input: r#"{"a":1}"#.into() };
    let request = SampleRequest {
        system_prompt: Some("Be brief.".into()),
        temperature: Some(0.5),
        stop_sequences: vec!["END".into()],
        tools: vec![SampleTool {
            name: "add".into(),
            description: Some("Adds.".into()),
            input_schema: r#"{"type":"object"}"#.into(),
        }],
        tool_choice: Some(ToolChoice::Required),
        ..asks(vec![
            message(Role::User, vec![Piece::Text("Look:".into()), Piece::Image(blob("image/png"))]),
            message(Role::Assistant, vec![Piece::Text("I add.".into()), Piece::ToolUse(tool_use)]),
            message(
                Role::User,
                vec![
                    Piece::Text("So?".into()),
                    outcome(vec![Content::text("2"), Content::text("3")], None, false),
                    Piece::Text("Well?".into()),
                ],
            ),
        ])
    };
    let expected = json!({
        "model": "m", "max_tokens": 80, "stream": false, "temperature": 0.5, "stop": ["END"], "tool_choice": "required",
        "tools": [{"type": "function", "function": {"name": "add", "description": "Adds.", "parameters": {"type": "object"}}}],
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": [
                {"type": "text", "text": "Look:"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AQID"}},
            ]},
            {"role": "assistant", "content": "I add.", "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "add", "arguments": "{\"a\":1}"}},
            ]},
            {"role": "tool", "tool_call_id": "c1", "content": "2\n3"},
            {"role": "user", "content": "So?\nWell?"},
        ],
    });
    assert_eq!(request::body(&request, "m", 80).unwrap(), expected);
    // Fields that the request does not set are not sent.
    let plain = request::body(&asks(vec![message(Role::User, vec![Piece::Text("Hi".into())])]), "m", 200).unwrap();
    let messages = json!([{"role": "user", "content": "Hi"}]);
    assert_eq!(plain, json!({"model": "m", "max_tokens": 100, "stream": false, "messages": messages}));
}

#[test]
fn results_of_tools_are_text() {
    let content = |piece: Piece| {
        let body = request::body(&asks(vec![message(Role::User, vec![piece])]), "m", 100)?;
        Ok::<_, String>(body["messages"][0]["content"].as_str().unwrap().to_owned())
    };
    assert_eq!(content(outcome(vec![], Some("{\"n\":1}"), false)).unwrap(), "{\"n\":1}");
    assert_eq!(content(outcome(vec![Content::text("no")], Some("{}"), true)).unwrap(), "The tool failed: no");
    let picture = Content::plain(ContentData::Image(blob("image/png")));
    assert!(content(outcome(vec![picture], None, false)).unwrap_err().contains("only text"));
}

#[test]
fn what_the_api_cannot_express_is_refused() {
    let sound = asks(vec![message(Role::User, vec![Piece::Audio(blob("audio/mpeg"))])]);
    let part = &request::body(&sound, "m", 1).unwrap()["messages"][0]["content"][0];
    assert_eq!(part["input_audio"], json!({"data": "AQID", "format": "mp3"}));
    let tool_use = || Piece::ToolUse(ToolUse { id: "1".into(), name: "t".into(), input: "{}".into() });
    for (role, piece, word) in [
        (Role::User, tool_use(), "cannot use tools"),
        (Role::User, Piece::Image(blob("text/html")), "media type"),
        (Role::User, Piece::Image(blob("image/png;base64,AAAA#")), "media type"),
        (Role::User, Piece::Audio(blob("audio/flac")), "audio/wav"),
        (Role::Assistant, Piece::Image(blob("image/png")), "from the user only"),
        (Role::Assistant, outcome(vec![], None, false), "results of tools"),
    ] {
        let error = request::body(&asks(vec![message(role, vec![piece])]), "m", 1).unwrap_err();
        assert!(error.contains(word), "{error}");
    }
}

fn read(value: &Value) -> Result<ModelAnswer, String> {
    response::read(value.to_string().as_bytes(), "asked")
}

#[test]
fn responses_are_parsed() {
    let whole = json!({
        "id": "x", "object": "chat.completion", "model": "m-1",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "Paris"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9},
    });
    let ModelAnswer { answer, tokens } = read(&whole).unwrap();
    assert_eq!((answer.content, answer.model.as_str()), (vec![Piece::Text("Paris".into())], "m-1"));
    assert_eq!((answer.stop_reason.as_deref(), answer.role), (Some("endTurn"), Role::Assistant));
    assert_eq!((tokens, tokens.total()), (TokenUsage { input: 7, output: 2 }, 9));
    let of = |message: Value, reason: Value| {
        read(&json!({"choices": [{"message": message, "finish_reason": reason}]})).map(|sampled| sampled.answer)
    };
    for (reason, expected) in [
        ("length", "maxTokens"),
        ("tool_calls", "toolUse"),
        ("function_call", "toolUse"),
        ("content_filter", "content_filter"),
    ] {
        assert_eq!(of(json!({"content": "x"}), json!(reason)).unwrap().stop_reason.as_deref(), Some(expected));
    }
    let bare = of(json!({"content": null}), Value::Null).unwrap();
    assert_eq!((bare.content, bare.model.as_str(), bare.stop_reason), (vec![Piece::Text("".into())], "asked", None));
    let parts = of(json!({"content": [{"type": "text", "text": "a"}, {"type": "x"}], "refusal": "b"}), Value::Null);
    assert_eq!(parts.unwrap().content, [Piece::Text("a".into()), Piece::Text("b".into())]);
}

#[test]
fn tool_calls_are_parsed() {
    let calls = json!([
        {"id": "c1", "type": "function", "function": {"name": "add", "arguments": "{\"a\": 1}"}},
        {"function": {"name": "now"}},
        {"id": "", "function": {"name": "now", "arguments": {"zone": "UTC"}}},
        {"id": "c4", "function": {"name": "now", "arguments": ""}},
    ]);
    let body = json!({"choices": [{"message": {"content": "", "tool_calls": calls}, "finish_reason": "tool_calls"}]});
    let pieces = read(&body).unwrap().answer.content;
    let tools: Vec<_> = pieces
        .iter()
        .map(|piece| match piece {
            Piece::ToolUse(tool) => (tool.id.as_str(), tool.name.as_str(), tool.input.as_str()),
            other => panic!("{other:?}"),
        })
        .collect();
    let zone = r#"{"zone":"UTC"}"#;
    assert_eq!(
        tools,
        [("c1", "add", r#"{"a":1}"#), ("call-2", "now", "{}"), ("call-3", "now", zone), ("c4", "now", "{}")]
    );
}

#[test]
fn an_invalid_response_is_an_error_that_quotes_nothing() {
    let tools = |arguments: Value| json!({"choices": [{"message": {"tool_calls": [{"function": {"name": "hush", "arguments": arguments}}]}}]});
    for text in [
        "".to_owned(),
        "hush hush".into(),
        "{\"hush\"".into(),
        "[]".into(),
        "{}".into(),
        json!({"choices": []}).to_string(),
        json!({"choices": [{"message": "hush"}]}).to_string(),
        json!({"choices": [{"message": {"content": 7}}]}).to_string(),
        json!({"error": {"message": "hush"}}).to_string(),
        tools(json!("{hush")).to_string(),
        tools(json!("[1]")).to_string(),
        tools(json!(7)).to_string(),
        format!("{}{}", "[".repeat(100_000), "]".repeat(100_000)),
    ] {
        let error = response::read(text.as_bytes(), "m").unwrap_err();
        assert!(!error.contains("hush"), "{error}");
    }
}
