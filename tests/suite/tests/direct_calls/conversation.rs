//! Conversations: a call whose client answers what it is asked, round by round.

use super::{Exchange, Sent, exchange, sent_by, stable};
use serde_json::{Map, Value, json};
use std::net::SocketAddr;
use suite::http::modern;

/// Rounds of a conversation, if none ends it before.
const MAX_ROUNDS: usize = 6;

/// What a client answers to a question: the method and its parameters. None leaves it out.
type Answering = fn(&str, &Value) -> Option<Value>;

/// Clients, by what they declare and how they answer.
const CLIENTS: [(&str, Answering); 10] = [
    (ALL, cooperative),
    (ALL, |_, _| Some(json!({"action": "decline"}))),
    (ALL, |_, _| Some(json!({}))),
    (ALL, |_, _| Some(Value::Null)),
    (ALL, |_, _| None),
    (r#"{"elicitation":{}}"#, cooperative),
    (r#"{"elicitation":{"url":{}}}"#, cooperative),
    (r#"{"sampling":{}}"#, cooperative),
    (r#"{"roots":{}}"#, cooperative),
    ("{}", cooperative),
];

const ALL: &str = r#"{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}},"roots":{"listChanged":true}}"#;

fn cooperative(method: &str, params: &Value) -> Option<Value> {
    Some(match method {
        "elicitation/create" if params["mode"] == "url" => json!({"action": "accept"}),
        "elicitation/create" => {
            let properties = params["requestedSchema"]["properties"].as_object().unwrap();
            let filled =
                properties.keys().map(|key| (key.clone(), if key == "ok" { json!(true) } else { json!("Ada") }));
            json!({"action": "accept", "content": filled.collect::<Map<_, _>>()})
        }
        "sampling/createMessage" => {
            let text = json!({"type": "text", "text": "Paris"});
            json!({"role": "assistant", "content": text, "model": "m", "stopReason": "endTurn"})
        }
        _ => json!({"roots": [{"uri": "file:///repo", "name": "repo"}]}),
    })
}

/// A call by a client of one kind.
pub(super) struct Conversation {
    pub(super) first: Sent,
    answering: Answering,
}

/// Calls that ask for everything there is, of every kind of client.
pub(super) fn conversations() -> Vec<Conversation> {
    let ask = |path: &str, n: u64| ("ask__run".to_owned(), json!({"path": path, "n": n}));
    let script = |steps: Value| ("agent-calls__run".to_owned(), json!({"path": steps.to_string()}));
    let asked = |name: &str| json!({"name": "asker.run", "arguments": {"path": name}});
    let calls = [
        ask("form", 0),
        ask("fields", 0),
        ask("rounds", 3),
        ask("confirm", 0),
        ask("many", 0),
        ask("url", 0),
        ask("sample", 0),
        ask("samples", 2),
        ask("tools", 0),
        ask("roots", 0),
        ask("secret", 0),
        ask("nested", 0),
        ask("chunks", 0),
        ask("supported", 0),
        ("mute__run".to_owned(), json!({"path": "form"})),
        ("mute__run".to_owned(), json!({"path": "supported"})),
        ("chunk-kinds__run".to_owned(), json!({})),
        ("dropping__run".to_owned(), json!({})),
        ("log-flood__run".to_owned(), json!({"n": 40})),
        ("relay__run".to_owned(), json!({"path": "calendar.free"})),
        ("relay__run".to_owned(), json!({"path": "mail.send"})),
        ("pass-on__run".to_owned(), json!({"path": "kinds.run"})),
        script(json!([{"list": 1}, {"call": {"name": "echo.run"}}, {"ask": "who"}, {"call": asked("form")}])),
        script(json!([{"emit": "one"}, {"many": [asked("form"), asked("roots"), asked("sample")]}, {"emit": "two"}])),
        script(json!([{"call": {"name": "mail.send"}}])),
        ("agent-calls__run".to_owned(), json!({"path": r#"[{"call":{"name":"mail.send"}}]"#, "n": 1})),
    ];
    let of = |(tool, arguments): &(String, Value)| {
        let call =
            |(declared, answering)| Conversation { first: sent_by(tool, arguments.clone(), declared), answering };
        CLIENTS.map(call)
    };
    calls.iter().flat_map(of).collect()
}

impl Conversation {
    /// The answers to all rounds, and what the call has written to its log. The first request and the later ones have an
    /// `Accept` header each.
    pub(super) fn hold(&self, address: SocketAddr, [first, later]: [&str; 2]) -> Vec<Exchange> {
        let mut rounds = vec![exchange(address, first, &self.first)];
        while let Some(retry) = self.retry(&rounds[rounds.len() - 1].body)
            && rounds.len() < MAX_ROUNDS
        {
            rounds.push(exchange(address, later, &retry));
        }
        let end = &rounds[rounds.len() - 1].body["result"]["_meta"]["dev.portcullis/stream"]["log"];
        if let Some(uri) = end.as_str() {
            let message = modern(address, 1, "resources/read", json!({"uri": uri}), false).message().unwrap();
            let text = message["result"]["contents"][0]["text"].as_str().expect("a log");
            let body = serde_json::from_str(text).unwrap();
            rounds.push(Exchange { status: 200, headers: vec![], body });
        }
        rounds.iter_mut().for_each(|round| stable(&mut round.body));
        rounds
    }

    /// The next request, if the last answer asks something.
    fn retry(&self, answered: &Value) -> Option<Sent> {
        let questions = answered["result"]["inputRequests"].as_object()?;
        let answer = |(key, asked): (&String, &Value)| {
            Some((key.clone(), (self.answering)(asked["method"].as_str().unwrap(), &asked["params"])?))
        };
        let mut body: Value = serde_json::from_str(&self.first.body).unwrap();
        body["params"]["inputResponses"] = questions.iter().filter_map(answer).collect::<Map<_, _>>().into();
        body["params"]["requestState"] = answered["result"]["requestState"].clone();
        Some(Sent { name: self.first.name.clone(), body: body.to_string() })
    }
}
