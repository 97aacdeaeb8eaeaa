//! The demos of `plugins/` in both revisions: the questions they ask, and the effects they have only after an answer.

mod book;
mod churn;
mod expense;
pub(crate) mod migrate;
mod orchestrator;
mod planner;
mod pulls;
mod research;
mod travel;
mod trio;
mod unmodified;

use serde_json::{Map, Value, json};
use suite::{Called, Client, Era, Home, Server};

/// The answers of a client's user and model: maps method and params to a result.
type Answer = fn(&str, &Value) -> Value;

/// The capabilities for forms and a model with tools.
fn all() -> Value {
    json!({"elicitation": {"form": {}}, "sampling": {"tools": {}}})
}

/// A client that receives progress.
fn client(home: Home, config: &str, era: Era, abilities: Value) -> Client {
    let mut client = Client::able(Server::start_in(home, config), era, false, abilities);
    client.progress = true;
    client
}

/// A call with all the questions that it asked.
struct Seen {
    called: Called,
    /// The method and params of the questions, by round. A legacy call has one round.
    rounds: Vec<Vec<(String, Value)>>,
    progress: Vec<f64>,
}

impl Seen {
    /// The params of all questions.
    fn asked(&self) -> Vec<&Value> {
        self.rounds.iter().flatten().map(|(_, params)| params).collect()
    }

    /// The result without the fields that differ between revisions.
    fn substance(&self) -> Value {
        let mut result = self.called.substance();
        result.as_object_mut().unwrap().remove("resultType");
        result
    }
}

/// Makes a call and answers its questions by the client's revision.
fn through(client: &mut Client, tool: &str, arguments: &Value, answer: Answer) -> Seen {
    client.answering = Some(answer);
    let mut called = client.call(tool, arguments.clone());
    let mut seen = Seen { rounds: vec![], progress: progress(&called), called };
    if client.era() == Era::Legacy {
        let requests = seen.called.0.notifications.iter().filter(|(_, message)| message.get("id").is_some());
        let question = |message: &Value| (message["method"].as_str().unwrap().to_owned(), message["params"].clone());
        seen.rounds.push(requests.map(|(_, message)| question(message)).collect());
        return seen;
    }
    while seen.called.result()["resultType"] == "input_required" {
        let (params, asked) = answered(tool, arguments, seen.called.result(), answer);
        called = Called(client.request("tools/call", params));
        seen.progress.extend(progress(&called));
        seen.rounds.push(asked);
        seen.called = called;
    }
    seen
}

/// Checks progress where reports within a tenth of a second are merged: the first and the last are always sent.
fn assert_progress(seen: &[f64], whole: &[f64]) {
    let mut rest = whole.iter();
    let all_known = seen.iter().all(|done| rest.any(|it| it == done));
    assert!(all_known && seen.first() == whole.first() && seen.last() == whole.last(), "{seen:?} of {whole:?}");
}

fn progress(called: &Called) -> Vec<f64> {
    called.progress().iter().map(|report| report["progress"].as_f64().unwrap()).collect()
}

/// The retry that answers a round, and the questions of that round.
fn answered(tool: &str, arguments: &Value, round: &Value, answer: Answer) -> (Value, Vec<(String, Value)>) {
    let (mut responses, mut asked) = (Map::new(), Vec::new());
    for (key, request) in round["inputRequests"].as_object().unwrap() {
        let (method, params) = (request["method"].as_str().unwrap(), &request["params"]);
        responses.insert(key.clone(), answer(method, params));
        asked.push((method.to_owned(), params.clone()));
    }
    let state = &round["requestState"];
    (json!({"name": tool, "arguments": arguments, "requestState": state, "inputResponses": responses}), asked)
}

/// The answer of a model with this text.
fn said(text: &str) -> Value {
    let content = json!({"type": "text", "text": text});
    json!({"role": "assistant", "content": content, "model": "m", "stopReason": "endTurn"})
}

/// The answer of a user who accepts a form with this content.
fn filled(content: Value) -> Value {
    json!({"action": "accept", "content": content})
}
