//! What a client sees of the plugin `polyglot`: one conversation with the real host, step by step, without what differs from
//! run to run.

mod reaching;

use crate::tasks::{TASKS, wait_for, wait_for_status};
pub(super) use reaching::Place;
use serde_json::{Map, Value, json};
use std::path::Path;
use suite::client::EXTENSION;
use suite::web::Web;
use suite::{Called, Client, Era, Home, PATIENCE, Server, agent, eventually, plugin_from, portcullis};

/// No waiting task keeps its instance.
const NO_ROOM: &str = "[server]\nparked = { calls = 0, per-principal = 0 }\n[server.tasks]\ninline = \"50ms\"\n\n";
const GRANTS: &str = r#"grants.agent-tools = ["echo.*", "failing.*"]
grants.client = { form = true, url = ["example.com"], sample = { calls = 8, tokens = 1_000 }, roots = true }
grants.env = ["POLYGLOT"]
grants.events = ["polyglot.*"]
grants.filesystem = [{ host = "work", guest = "/work", access = "write" }]
grants.http = [{ allow = "GET,POST http://localhost:8444/v1/", private = true }]
grants.publish = true
grants.state = {}
limits = { memory = "128 MiB", fuel = 50_000_000_000, deadline = "10m" }
"#;

/// The whole conversation, by the names of its steps.
pub(super) fn of(component: &Path, web: &Web, place: &Place) -> Map<String, Value> {
    let config =
        plugin_from("polyglot", component, GRANTS) + &agent("echo", "echo", "") + &agent("failing", "tree", "");
    let mut talk = Talk { client: client(Home::new(), &config, false), steps: Map::new(), restarts: false };
    talk.definitions();
    talk.arguments_and_results();
    talk.output();
    talk.errors();
    talk.questions();
    talk.outside(web);
    talk.resources_and_prompts();
    talk.many_at_once();
    talk.suggestions();
    talk.left_behind();
    talk.surroundings();
    talk.client = client(Home::new(), &(NO_ROOM.to_owned() + &config), true);
    talk.tasks();
    talk.in_doubt(web, place);
    talk.an_account(component);
    talk.steps
}

fn client(home: Home, config: &str, tasks: bool) -> Client {
    let server = Server::spawn(home, config, &[], |command| {
        command.env("POLYGLOT", "yes");
    });
    server.wait_until_loaded();
    Client::able(server, Era::Modern, false, abilities(tasks))
}

fn abilities(tasks: bool) -> Value {
    let mut extensions = json!({EXTENSION: {}, "dev.portcullis/remedies": {}});
    if tasks {
        extensions[TASKS] = json!({});
    }
    json!({"elicitation": {"form": {}, "url": {}}, "sampling": {"tools": {}}, "roots": {}, "extensions": extensions})
}

struct Talk {
    client: Client,
    steps: Map<String, Value>,
    restarts: bool,
}

impl Talk {
    fn note(&mut self, step: &str, seen: Value) {
        assert!(self.steps.insert(step.to_owned(), seen).is_none(), "{step} is noted twice");
    }

    /// Calls a tool, gives these answers to what it asks, and notes everything.
    fn call(&mut self, step: &str, tool: &str, arguments: Value, answers: &[Value]) {
        let mut params = json!({"name": format!("polyglot__{tool}"), "arguments": arguments});
        let (mut asked, mut chunks) = (Vec::new(), Vec::new());
        let mut answers = answers.iter();
        loop {
            let answer = self.client.request("tools/call", params.clone());
            let called = if answer.message.get("error").is_some() {
                let error = json!({"error": answer.message["error"]});
                return self.note(step, error);
            } else {
                Called(answer)
            };
            chunks.extend(called.chunks().into_iter().map(|chunk| chunk["content"].clone()));
            let result = called.result();
            if result["resultType"] != "input_required" {
                let mut seen = json!({"result": called.substance()});
                if let Some(error) = result["_meta"].get("dev.portcullis/error") {
                    seen["error"] = error.clone();
                }
                for (name, list) in [("asked", asked), ("chunks", chunks)] {
                    if !list.is_empty() {
                        seen[name] = list.into();
                    }
                }
                return self.note(step, seen);
            }
            let requests = result["inputRequests"].as_object().unwrap();
            let responses: Map<_, _> =
                requests.keys().map(|key| (key.clone(), answers.next().expect("an answer").clone())).collect();
            asked.push(requests.iter().map(|(key, asks)| (key.clone(), with_normal_fields(asks))).collect::<Value>());
            if std::mem::take(&mut self.restarts) {
                self.client.server.restart_stdio();
            }
            params["requestState"] = result["requestState"].clone();
            params["inputResponses"] = responses.into();
        }
    }

    /// The same, and another process takes the first answer: the call runs again from its journal, which finds out a guest that
    /// is not the same each time.
    fn call_over_a_restart(&mut self, step: &str, tool: &str, arguments: Value, answers: &[Value]) {
        self.restarts = true;
        self.call(step, tool, arguments, answers);
        assert!(!self.restarts, "{step}: nothing was asked");
    }

    fn plain(&mut self, step: &str, tool: &str, arguments: Value) {
        self.call(step, tool, arguments, &[]);
    }

    fn definitions(&mut self) {
        for tool in self.client.tools() {
            let name = tool["name"].as_str().unwrap().to_owned();
            let mut tool = normal(&tool);
            tool.as_object_mut().unwrap().remove("_meta");
            self.note(&format!("definition of {name}"), tool);
        }
        for (method, list) in [
            ("resources/list", "resources"),
            ("resources/templates/list", "resourceTemplates"),
            ("prompts/list", "prompts"),
        ] {
            let answer = self.client.request(method, json!({}));
            let ours = answer.result()[list].as_array().unwrap().iter();
            let ours = ours.filter(|entry| !entry.to_string().contains("portcullis://")).map(normal);
            self.note(method, ours.collect());
        }
    }

    fn arguments_and_results(&mut self) {
        self.plain("defaults", "greet", json!({"name": "Ada"}));
        let all = json!({"name": "Ada \"Ä\"", "times": 2, "style": "loud", "title": "Dr."});
        self.plain("all arguments", "greet", all);
        self.plain("null is nothing", "greet", json!({"name": "Ada", "title": null}));
        for (step, wrong) in [
            ("missing", json!({})),
            ("too short", json!({"name": ""})),
            ("out of range", json!({"name": "Ada", "times": 4})),
            ("not in the list", json!({"name": "Ada", "style": "soft"})),
            ("unknown", json!({"name": "Ada", "age": 36})),
        ] {
            self.plain(&format!("refused by the schema: {step}"), "greet", wrong);
        }
        let points = json!([{"x": 1, "y": 2, "label": "a"}, {"x": 6, "y": -2}, {"x": 4, "y": 0, "label": "ü <&>"}]);
        let named = json!({"points": points, "weights": {"b": 2, "a": 3}, "scale": 0.7, "named": true});
        self.plain("structured", "measure", named);
        self.plain(
            "structured, with null",
            "measure",
            json!({"points": [{"x": 1, "y": 0}, {"x": 2, "y": 0}], "weights": {}}),
        );
        self.plain("refused inside", "measure", json!({"points": [{"x": 1}], "weights": {}}));
        self.plain("contents", "contents", json!({}));
        let mut context = json!({"name": "polyglot__context", "arguments": {}});
        context["_meta"] = json!({"dev.portcullis/correlationId": "story"});
        let answer = Called(self.client.request("tools/call", context));
        self.note("context", answer.substance());
    }

    fn output(&mut self) {
        self.plain("chunks", "stream", json!({"count": 3}));
        for part in 1..=3 {
            self.client.server.wait_for_log(&format!("polyglot sends part {part}"));
        }
        self.client.progress = true;
        let called = self.client.call("polyglot__stream", json!({"count": 1}));
        let reports = called.progress().into_iter().map(|report| {
            let mut report = report.clone();
            let fields = report.as_object_mut().unwrap();
            fields.retain(|name, _| !["progressToken", "_meta"].contains(&name.as_str()));
            report
        });
        let reports: Value = reports.collect();
        self.client.progress = false;
        self.note("progress", reports);
        self.plain("nobody says anything", "listen", json!({}));
    }

    fn errors(&mut self) {
        for how in ["invalid", "failed", "unsupported", "content", "error"] {
            self.plain(&format!("fails: {how}"), "fail", json!({"how": how}));
        }
    }

    fn questions(&mut self) {
        let filled = json!({"name": "Ada", "email": "ada@example.com", "pieces": 2, "size": "large", "gift": true, "note": "soon"});
        let accept = |content: Value| json!({"action": "accept", "content": content});
        self.call_over_a_restart("a form, filled in", "order", json!({}), &[accept(filled)]);
        let least = json!({"name": "Ada", "email": "ada@example.com", "gift": false});
        self.call("a form, as little as possible", "order", json!({}), &[accept(least.clone())]);
        let wrong = json!({"name": "", "email": "ada@example.com", "gift": false});
        self.call("a form, wrong at first", "order", json!({}), &[accept(wrong), accept(least)]);
        self.call("a form, declined", "order", json!({}), &[json!({"action": "decline"})]);
        self.call("a form, closed", "order", json!({}), &[json!({"action": "cancel"})]);
        self.call("a yes", "confirm", json!({}), &[accept(json!({}))]);
        self.call("a yes without content", "confirm", json!({}), &[json!({"action": "accept"})]);
        self.call("a no", "confirm", json!({}), &[json!({"action": "decline"})]);
        self.call("neither yes nor no", "confirm", json!({}), &[json!({"action": "cancel"})]);
        let said = json!({"type": "text", "text": "Paris"});
        let answer = json!({"role": "assistant", "content": said, "model": "tiny", "stopReason": "endTurn"});
        let question = json!({"question": "Which city?"});
        self.call("a sample", "complete", question.clone(), &[answer]);
        self.client.abilities = json!({});
        self.call("nobody to ask", "order", json!({}), &[]);
        self.call("no model to ask", "complete", question, &[]);
        self.client.abilities = abilities(false);
    }

    fn outside(&mut self, web: &Web) {
        self.plain("an agent's tool", "delegate", json!({"tool": "echo.run", "path": "a", "n": "7"}));
        for (step, wrong) in [
            ("refuses its arguments", json!({"tool": "echo.run", "n": "seven"})),
            ("is not there", json!({"tool": "echo.missing"})),
            ("is not granted", json!({"tool": "notes.add"})),
            ("fails", json!({"tool": "failing.run", "path": r#"{"end": "fail", "thousands": "0"}"#})),
        ] {
            self.plain(&format!("an agent's tool {step}"), "delegate", wrong);
        }
        let keep = |action: &str, key: &str, value: Value| json!({"action": action, "key": key, "value": value});
        for (step, call) in [
            ("get nothing", keep("get", "a/1", Value::Null)),
            ("set", keep("set", "a/1", json!("ä"))),
            ("get", keep("get", "a/1", Value::Null)),
            ("set another", keep("set", "a/2", json!("two"))),
            ("list", keep("list", "a/", Value::Null)),
            ("list nothing", keep("list", "b/", Value::Null)),
            ("remove", keep("remove", "a/1", Value::Null)),
            ("remove nothing", keep("remove", "a/1", Value::Null)),
            ("count", keep("count", "count", Value::Null)),
            ("count again", keep("count", "count", Value::Null)),
            ("bad key", keep("get", "bad key", Value::Null)),
        ] {
            self.plain(&format!("state: {step}"), "keep", call);
        }
        let before = web.seen().len();
        for (step, call) in [
            ("get", json!({"path": "/v1/hello?a=b"})),
            ("post", json!({"path": "/v1/hello", "body": "ä"})),
            ("too long", json!({"path": "/v1/long"})),
            ("without a type", json!({"path": "/v1/empty"})),
            ("status 500", json!({"path": "/v1/broken"})),
            ("not granted", json!({"path": "/closed"})),
            ("no path", json!({"path": "8/v1/"})),
        ] {
            self.plain(&format!("http: {step}"), "fetch", call);
        }
        let requests = web.seen()[before..].to_vec();
        let requests = requests.iter().map(|seen| {
            let [mark, kind] = ["x-polyglot", "content-type"].map(|name| seen.header(name).map(str::to_owned));
            json!({"method": seen.method, "target": seen.target, "body": seen.body, "x-polyglot": mark, "content-type": kind})
        });
        let requests = requests.collect();
        self.note("http: what the other server saw", requests);
    }

    fn resources_and_prompts(&mut self) {
        for (step, uri) in [
            ("a resource", "polyglot://about"),
            ("a resource by template", "polyglot://word/b%C3%A4r"),
            ("a resource that is not there", "polyglot://word/missing"),
            ("a resource that fails", "polyglot://word/broken"),
        ] {
            self.asked(step, "resources/read", json!({"uri": uri}));
        }
        let get = |arguments: Value| json!({"name": "polyglot__review", "arguments": arguments});
        self.asked("a prompt", "prompts/get", get(json!({"language": "rust"})));
        self.asked("a prompt with all arguments", "prompts/get", get(json!({"language": "go", "focus": "speed"})));
        self.asked("a prompt without what it needs", "prompts/get", get(json!({})));
    }

    fn asked(&mut self, step: &str, method: &str, params: Value) {
        let mut message = self.client.request(method, params).message;
        if let Some(result) = message["result"].as_object_mut() {
            result.remove("_meta");
        }
        let part = if message.get("error").is_some() { "error" } else { "result" };
        if let Some(data) = message[part].get_mut("data").and_then(Value::as_object_mut) {
            data.remove("dev.portcullis/usage");
        }
        self.note(step, json!({part: message[part]}));
    }

    fn tasks(&mut self) {
        let task = self.march();
        self.steer(&task, "left");
        wait_for(&mut self.client, &task[0], |task| task["statusMessage"] == "at step 1");
        self.wait_until_suspended(&task);
        // Another process goes on from the checkpoint.
        self.client.server.restart_stdio();
        self.steer(&task, "right");
        self.ended("a task that goes on in another process", &task, "completed");
        let task = self.march();
        self.steer(&task, "left");
        wait_for(&mut self.client, &task[0], |task| task["statusMessage"] == "at step 1");
        self.steer(&task, "halt");
        self.ended("a task that is told to halt", &task, "completed");
        let task = self.march();
        self.client.request("tasks/cancel", json!({"taskId": task[0]})).result();
        self.ended("a task that is cancelled", &task, "cancelled");
    }

    /// Starts a task. Its id, and its call's.
    fn march(&mut self) -> [String; 2] {
        let created = self.client.call("polyglot__march", json!({"steps": 2}));
        let text = |value: &Value| value.as_str().unwrap_or_else(|| panic!("{}", created.result())).to_owned();
        let task = [text(&created.result()["taskId"]), text(&created.result()["_meta"]["dev.portcullis/call"])];
        self.wait_until_suspended(&task);
        task
    }

    fn wait_until_suspended(&self, task: &[String; 2]) {
        let is_suspended = || {
            let shown = portcullis(&self.client.server.home, &["task", "show", &task[0], "--json"]).good().to_owned();
            (serde_json::from_str::<Value>(&shown).unwrap()["suspended"] == true).then_some(())
        };
        eventually(PATIENCE, is_suspended).expect("it is suspended");
    }

    fn steer(&mut self, task: &[String; 2], message: &str) {
        self.client.request("dev.portcullis/steer", json!({"call": task[1], "message": message})).result();
    }

    fn ended(&mut self, step: &str, task: &[String; 2], status: &str) {
        let mut ended = wait_for_status(&mut self.client, &task[0], status);
        if let Some(result) = ended["result"].as_object_mut() {
            result.remove("_meta");
        }
        self.note(step, json!({"status": status, "message": ended["statusMessage"], "result": ended["result"]}));
    }
}

/// The normal form of a definition: what two schemas have to have in common, and nothing in which languages may differ.
fn normal(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> =
                fields.iter().filter(|(key, value)| !(*key == "default" && value.is_null())).collect();
            fields.sort_by_key(|(key, _)| *key);
            fields
                .into_iter()
                .map(|(key, value)| (key.clone(), if key == "required" { sorted(value) } else { normal(value) }))
                .collect()
        }
        Value::Array(items) => items.iter().map(normal).collect(),
        other => other.clone(),
    }
}

/// A question. Of a form, each field has its normal form; their order counts, since people see it. Of a tool for the model, the
/// schema has it. The page of a connection is another each time.
fn with_normal_fields(question: &Value) -> Value {
    let mut question = question.clone();
    for tool in question.pointer_mut("/params/tools").and_then(Value::as_array_mut).into_iter().flatten() {
        tool["inputSchema"] = normal(&tool["inputSchema"]);
    }
    if let Some(url) = question.pointer_mut("/params/url").filter(|url| url.as_str().is_some_and(is_of_this_host)) {
        *url = json!("a page of this host");
    }
    if let Some(fields) = question.pointer_mut("/params/requestedSchema/properties").and_then(Value::as_object_mut) {
        fields.values_mut().for_each(|field| *field = normal(field));
    }
    question
}

fn is_of_this_host(url: &str) -> bool {
    url.starts_with("http://127.0.0.1:")
}

/// The order of required properties means nothing.
fn sorted(required: &Value) -> Value {
    let Some(names) = required.as_array() else { return normal(required) };
    let mut names: Vec<_> = names.iter().map(|name| name.as_str().unwrap_or_default()).collect();
    names.sort_unstable();
    names.into()
}
