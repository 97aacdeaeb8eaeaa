//! Lane `ask`: the client's model or its user answers for a tool that the operator has described.

use serde_json::{Value, json};
use suite::{Called, Client, Era, Home, Server, plugin, portcullis};

fn tools() -> Value {
    let hour = json!({"type": "object", "properties": {"hour": {"type": "integer"}}, "required": ["hour"]});
    json!([
        {"name": "calendar.free", "description": "A free hour.", "inputSchema": {"type": "object"}, "outputSchema": hour},
        {"name": "calendar.words", "description": "In words.", "inputSchema": {"type": "object"}},
        {"name": "mail.send", "description": "Not granted.", "inputSchema": {"type": "object"}},
    ])
}

fn client(era: Era, abilities: Value, settings: &str) -> Client {
    let home = Home::new();
    home.write("stand-in.json", tools().to_string());
    let grants = format!("grants.agent-tools = [\"calendar.*\"]\n{settings}");
    let config = "[stand-in]\ntools = \"stand-in.json\"\n".to_owned() + &plugin("relay", &grants);
    Client::able(Server::start_in(home, &config), era, false, abilities)
}

fn call(tool: &str) -> Value {
    json!({"name": "relay__run", "arguments": {"path": tool, "n": 3}})
}

fn model() -> Value {
    json!({"sampling": {"tools": {}}, "elicitation": {"form": {}}})
}

fn used(input: Value) -> Value {
    let used = json!({"type": "tool_use", "id": "1", "name": "answer", "input": input});
    json!({"role": "assistant", "content": used, "model": "m", "stopReason": "toolUse"})
}

/// Makes a call and answers its one question. Returns the question's method, the question, and the result.
fn call_with_answer(client: &mut Client, tool: &str, answer: Value) -> (String, Value, Called) {
    let mut params = call(tool);
    if client.era() == Era::Modern {
        let asked = client.request("tools/call", params.clone());
        let questions = asked.result()["inputRequests"].as_object().unwrap_or_else(|| panic!("{}", asked.message));
        let (key, question) = questions.iter().next().unwrap();
        assert_eq!(questions.len(), 1);
        params["requestState"] = asked.result()["requestState"].clone();
        params["inputResponses"] = json!({key: answer});
        let called = Called(client.request("tools/call", params));
        return (question["method"].as_str().unwrap().to_owned(), question["params"].clone(), called);
    }
    let id = client.begin("tools/call", params);
    let question = client.notified();
    client.server.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": answer}));
    let called = Called(client.wait(id, std::time::Instant::now()));
    (question["method"].as_str().unwrap().to_owned(), question["params"].clone(), called)
}

#[test]
fn a_model_that_stands_in_must_use_the_one_tool() {
    for era in Era::ALL {
        let mut client = client(era, model(), "");
        let (method, question, called) = call_with_answer(&mut client, "calendar.free", used(json!({"hour": 10})));
        assert_eq!(method, "sampling/createMessage", "{era:?}");
        assert_eq!(question["toolChoice"], json!({"mode": "required"}));
        assert_eq!(question["tools"].as_array().unwrap().len(), 1);
        assert_eq!(question["tools"][0]["name"], "answer");
        assert_eq!(question["tools"][0]["inputSchema"], tools()[0]["outputSchema"]);
        let text = question["messages"][0]["content"]["text"].as_str().unwrap();
        for part in ["`relay`", "`calendar.free`", "A free hour.", r#"{"n":3}"#, "misbehaving"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert_eq!(called.good(), r#"{"hour":10}"#, "{era:?}");
        assert_eq!(called.usage()["questions"], 1);
        let (_, question, called) = call_with_answer(&mut client, "calendar.words", used(json!({"text": "at ten"})));
        assert_eq!(question["tools"][0]["inputSchema"]["required"], json!(["text"]));
        assert_eq!(called.good(), "at ten", "{era:?}");
        let (_, _, called) = call_with_answer(&mut client, "calendar.free", used(json!({"hour": "ten"})));
        assert!(called.is_error() && called.text().contains("no answer"), "{era:?}: {}", called.result());
    }
}

#[test]
fn without_a_model_the_user_is_asked() {
    for era in Era::ALL {
        let mut client = client(era, json!({"elicitation": {"form": {}}, "sampling": {}}), "");
        let accept = |content: Value| json!({"action": "accept", "content": content});
        let (method, question, called) = call_with_answer(&mut client, "calendar.free", accept(json!({"hour": 10})));
        assert_eq!(method, "elicitation/create", "{era:?}");
        assert_eq!(question["requestedSchema"], tools()[0]["outputSchema"]);
        assert_eq!(called.good(), r#"{"hour":10}"#, "{era:?}");
        let (_, question, called) = call_with_answer(&mut client, "calendar.words", accept(json!({"text": "at ten"})));
        assert_eq!(question["requestedSchema"]["required"], json!(["text"]));
        assert_eq!(called.good(), "at ten", "{era:?}");
        let (_, _, called) = call_with_answer(&mut client, "calendar.words", json!({"action": "decline"}));
        assert!(called.is_error() && called.text().contains("Declined"), "{era:?}: {}", called.result());
    }
}

#[test]
fn no_question_is_asked_without_a_grant_a_description_and_budget() {
    for era in Era::ALL {
        let refused = |client: &mut Client, tool: &str, part: &str| {
            let answer = client.request("tools/call", call(tool));
            let text = answer.message.to_string();
            assert!(text.contains(part), "{era:?}: {text}");
        };
        refused(&mut client(era, model(), ""), "mail.send", "denied");
        refused(&mut client(era, model(), ""), "calendar.other", "NotSupported");
        refused(&mut client(era, json!({"sampling": {}}), ""), "calendar.free", "NotSupported");
        refused(&mut client(era, model(), "limits.questions = 0"), "calendar.free", "out of questions");
    }
}

#[test]
fn an_invalid_description_file_stops_the_start() {
    let home = Home::new();
    home.write("stand-in.json", "{}");
    home.write("portcullis.toml", "[stand-in]\ntools = \"stand-in.json\"\n");
    let ran = portcullis(&home, &["serve"]);
    let why = ran.refused();
    assert!(why.contains("stand-in.json") && why.contains("not a JSON list of MCP tools"), "{why}");
}
