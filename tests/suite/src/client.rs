//! A client over stdio, simple enough to do what real clients never do.

use crate::called::{Answer, Called};
use crate::{PATIENCE, Server};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::time::Instant;

/// The two revisions of MCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    /// 2025-11-25, which starts with a handshake.
    Legacy,
    /// 2026-07-28, where every request is self-contained.
    Modern,
}

impl Era {
    /// Both.
    pub const ALL: [Era; 2] = [Era::Legacy, Era::Modern];
}

/// The extension for chunks.
pub const EXTENSION: &str = "dev.portcullis/partial-results";

/// A client of one server.
pub struct Client {
    /// The server, for its log, memory and home.
    pub server: Server,
    era: Era,
    extension: bool,
    /// Whether calls ask for progress. Their token is the request's id.
    pub progress: bool,
    /// Whether calls ask what they cost. Most do.
    pub asks_usage: bool,
    /// Capabilities besides the extension, such as `{"roots": {}}`. A legacy client declares them in the handshake.
    pub abilities: Value,
    /// Answers the server's requests, which only legacy clients get: from method and params to the result or
    /// `{"error": ...}`.
    pub answering: Option<fn(&str, &Value) -> Value>,
    next: u64,
    answers: HashMap<u64, (Instant, Value)>,
    notifications: Vec<(Instant, Value)>,
    /// How many of them an earlier answer has, too.
    given: usize,
}

impl Client {
    /// A modern client without chunks and progress, of a new server with this configuration.
    pub fn of(config: &str) -> Self {
        Self::new(Server::start(config), Era::Modern, false)
    }

    /// The same, of a running server.
    pub fn of_server(server: Server) -> Self {
        Self::new(server, Era::Modern, false)
    }

    /// Connects to a server, with a handshake if the revision has one.
    pub fn new(server: Server, era: Era, extension: bool) -> Self {
        Self::able(server, era, extension, json!({}))
    }

    /// The same, declaring further capabilities.
    pub fn able(server: Server, era: Era, extension: bool, abilities: Value) -> Self {
        let (answers, notifications, given) = (HashMap::new(), Vec::new(), 0);
        let mut client = Self {
            server,
            era,
            extension,
            progress: false,
            asks_usage: true,
            abilities,
            answering: None,
            next: 1,
            answers,
            notifications,
            given,
        };
        if era == Era::Legacy {
            let params = json!({
                "protocolVersion": "2025-11-25",
                "capabilities": client.capabilities(),
                "clientInfo": {"name": "suite", "version": "0"},
            });
            let answer = client.request("initialize", params);
            assert_eq!(answer.result()["protocolVersion"], "2025-11-25");
            client.server.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        }
        client
    }

    /// Does something, and returns what came of it and by how many bytes the memory of a [`Server::measurable`] server grew
    /// meanwhile, at most. A plugin's first call loads its code: it had better be over.
    pub fn measured<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> (T, u64) {
        let before = self.server.memory();
        self.server.forget_peak();
        let done = work(self);
        (done, self.server.peak_memory().saturating_sub(before))
    }

    /// The revision of the client.
    pub fn era(&self) -> Era {
        self.era
    }

    /// Sends a request, with `_meta` added, and returns its id.
    pub fn begin(&mut self, method: &str, params: Value) -> u64 {
        let (id, message) = self.message(method, params);
        self.server.send(&message);
        id
    }

    /// Sends a request to a server that may end at any moment. Its answer; none if the server ends before.
    pub fn try_request(&mut self, method: &str, params: Value) -> Option<Value> {
        let (id, message) = self.message(method, params);
        self.server.try_answer(&message, id)
    }

    fn message(&mut self, method: &str, mut params: Value) -> (u64, Value) {
        let id = self.next;
        self.next += 1;
        let mut meta = json!({});
        if self.era == Era::Modern {
            meta = modern_meta(self.extension);
            meta["io.modelcontextprotocol/clientCapabilities"] = self.capabilities();
        }
        let is_call = ["tools/call", "resources/read", "prompts/get"].contains(&method);
        if is_call && self.progress {
            meta["progressToken"] = json!(id);
        }
        if is_call {
            meta["dev.portcullis/usage"] = json!(self.asks_usage);
        }
        if method == "tools/call" && self.extension {
            meta["dev.portcullis/partialResultToken"] = json!(id);
        }
        if meta != json!({}) {
            match params["_meta"].as_object_mut() {
                Some(given) => given.extend(meta.as_object().cloned().unwrap_or_default()),
                None => params["_meta"] = meta,
            }
        }
        (id, json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
    }

    /// Starts a call of a tool.
    pub fn begin_call(&mut self, tool: &str, arguments: Value) -> u64 {
        self.begin("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// Waits for the answer to a request sent at `sent`. What subscriptions send can be waited for afterwards, too: it may come
    /// before the answer or after it.
    pub fn wait(&mut self, id: u64, sent: Instant) -> Answer {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some((answered, message)) = self.answers.remove(&id) {
                let notifications = self.notifications.split_off(self.given);
                self.notifications
                    .extend(notifications.iter().filter(|(_, message)| is_of_subscription(message)).cloned());
                self.given = self.notifications.len();
                return Answer { message, notifications, sent, answered };
            }
            let left = end.saturating_duration_since(Instant::now());
            let Some((at, message)) = self.server.receive(left) else {
                panic!("timed out: no answer to request {id} in {PATIENCE:?}\n{}", self.server.log());
            };
            match message["id"].as_u64() {
                Some(answered) if message.get("method").is_none() => {
                    self.answers.insert(answered, (at, message));
                }
                _ => self.note(at, message),
            }
        }
    }

    /// Waits for a notification or a request of this method.
    pub fn wait_for(&mut self, method: &str) -> Value {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(at) = self.notifications.iter().position(|(_, message)| message["method"] == method) {
                return self.take_notification(at);
            }
            let left = end.saturating_duration_since(Instant::now());
            let Some((at, message)) = self.server.receive(left) else {
                panic!("timed out: no {method} in {PATIENCE:?}\n{}", self.server.log());
            };
            match message["id"].as_u64() {
                Some(answered) if message.get("method").is_none() => {
                    self.answers.insert(answered, (at, message));
                }
                _ => self.note(at, message),
            }
        }
    }

    /// Records a notification, or answers a request of the server.
    fn note(&mut self, at: Instant, message: Value) {
        if let (Some(answering), Some(method)) = (self.answering, message["method"].as_str())
            && message.get("id").is_some()
        {
            let mut reply = json!({"jsonrpc": "2.0", "id": message["id"]});
            match answering(method, &message["params"]) {
                Value::Object(refusal) if refusal.contains_key("error") => reply["error"] = refusal["error"].clone(),
                result => reply["result"] = result,
            }
            self.server.send(&reply);
        }
        self.notifications.push((at, message));
    }

    fn capabilities(&self) -> Value {
        let mut declared = capabilities(self.extension);
        if let (Some(declared), Some(more)) = (declared.as_object_mut(), self.abilities.as_object()) {
            declared.extend(more.clone());
        }
        declared
    }

    /// Whether an answer has arrived.
    pub fn is_answered(&mut self, id: u64) -> bool {
        while let Some((at, message)) = self.server.receive(std::time::Duration::ZERO) {
            match message["id"].as_u64() {
                Some(answered) if message.get("method").is_none() => {
                    self.answers.insert(answered, (at, message));
                }
                _ => self.note(at, message),
            }
        }
        self.answers.contains_key(&id)
    }

    /// Waits for the next notification, of any method.
    pub fn notified(&mut self) -> Value {
        let end = Instant::now() + PATIENCE;
        while self.notifications.is_empty() {
            let left = end.saturating_duration_since(Instant::now());
            let Some((at, message)) = self.server.receive(left) else {
                panic!("timed out: no notification in {PATIENCE:?}\n{}", self.server.log());
            };
            match message["id"].as_u64() {
                Some(answered) if message.get("method").is_none() => {
                    self.answers.insert(answered, (at, message));
                }
                _ => self.notifications.push((at, message)),
            }
        }
        self.take_notification(0)
    }

    fn take_notification(&mut self, at: usize) -> Value {
        self.given -= usize::from(at < self.given);
        self.notifications.remove(at).1
    }

    /// The next notification or the answer to this request, whichever comes first.
    pub fn notified_or_answered(&mut self, id: u64) -> Value {
        let first = crate::eventually(PATIENCE, || {
            if self.is_answered(id) {
                return self.answers.remove(&id).map(|(_, message)| message);
            }
            (!self.notifications.is_empty()).then(|| self.take_notification(0))
        });
        first.unwrap_or_else(|| panic!("timed out: neither in {PATIENCE:?}\n{}", self.server.log()))
    }

    /// Sends a request and waits for its answer.
    pub fn request(&mut self, method: &str, params: Value) -> Answer {
        let sent = Instant::now();
        let id = self.begin(method, params);
        self.wait(id, sent)
    }

    /// Calls a tool by its full name.
    pub fn call(&mut self, tool: &str, arguments: Value) -> Called {
        Called(self.request("tools/call", json!({"name": tool, "arguments": arguments})))
    }

    /// Calls the only tool of a guest.
    pub fn run(&mut self, guest: &str, arguments: Value) -> Called {
        self.call(&format!("{guest}__run"), arguments)
    }

    /// Cancels a request.
    pub fn cancel(&mut self, id: u64) {
        let params = json!({"requestId": id, "reason": "the suite wants it"});
        self.server.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}));
    }

    /// The tools, as listed.
    pub fn tools(&mut self) -> Vec<Value> {
        let answer = self.request("tools/list", json!({}));
        answer.result()["tools"].as_array().cloned().unwrap_or_else(|| panic!("no tools: {}", answer.message))
    }

    /// Asserts that the server answers and the guest `echo` works.
    pub fn check_alive(&mut self) {
        let said = self.run("echo", json!({"n": 7, "path": "still here"}));
        assert!(said.good().contains("still here"), "{}", said.result());
    }
}

/// Whether a notification is about a change and not about a request.
fn is_of_subscription(message: &Value) -> bool {
    let method = message["method"].as_str().unwrap_or_default();
    method.ends_with("/list_changed") || ["notifications/resources/updated", "notifications/tasks"].contains(&method)
}

/// The `_meta` of a modern request, which asks what its call costs.
pub fn modern_meta(extension: bool) -> Value {
    json!({
        "dev.portcullis/usage": true,
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "suite", "version": "0"},
        "io.modelcontextprotocol/clientCapabilities": capabilities(extension),
    })
}

/// The capabilities of a client with or without the extensions for people.
pub fn capabilities(extension: bool) -> Value {
    if extension { json!({"extensions": {EXTENSION: {}, "dev.portcullis/remedies": {}}}) } else { json!({}) }
}
