//! The fixture that all cases share: one server, and a low-level client with its own tools that can send invalid
//! requests.

use serde_json::{Map, Value, json};
use std::fs;
use std::io::Write as _;
use std::net::{SocketAddr, TcpStream};
use std::sync::{Mutex, MutexGuard};
use std::time::Instant;
use suite::client::modern_meta;
use suite::http::{Response, request};
use suite::provider::Provider;
use suite::{Home, PATIENCE, Server, agent, eventually, paths, plugin, plugin_from};

pub(crate) const EXTENSION: &str = "dev.portcullis/client-tools";
/// The limit on parked calls of one principal.
pub(crate) const PARKED: usize = 12;

/// Two users with keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Who {
    Alice,
    Bob,
}

/// The server and its users.
pub(crate) struct Fixture {
    server: Mutex<Server>,
    pub(crate) address: SocketAddr,
    keys: [String; 2],
    /// The provider of an account that nobody has connected.
    _provider: Provider,
}

/// One scripted plugin under several names and grants, and agent-side tools that fail in different ways.
fn config(provider: &Provider) -> String {
    let scripted = |name: &str, settings: &str| plugin_from(name, &paths::guest("agent-calls"), settings);
    let abuser = |name: &str, settings: &str| plugin_from(name, &paths::guest("abuser"), settings);
    let all = r#"grants.agent-tools = ["*.*"]"#;
    let leaky = format!(
        "{all}\ngrants.connections = [\"service\"]\ngrants.client.sample = {{ calls = 9, tokens = 999, fallback = true }}\n\
         grants.client.url = [\"page.example\"]\n\
         grants.filesystem = [{{ host = \"shelf\", guest = \"/work\", access = \"write\" }}]"
    );
    let endless = "limits.fuel = 1_000_000_000_000_000\nlimits.deadline = \"1h\"";
    let server = format!(
        "[server]\nstate = \"state\"\nparked = {{ calls = 64, per-principal = {PARKED}, stored = false }}\n[server.auth]\nkeys = \"keys.toml\"\n[model]\nurl = \"http://127.0.0.1:9/v1/\"\nname = \"deaf\"\n\n"
    );
    server
        + &provider.config("service")
        + &scripted("calls", all)
        + &scripted("other", all)
        + &scripted("narrow", r#"grants.agent-tools = ["tools.get"]"#)
        + &scripted("hasty", &format!("{all}\nlimits.answer-timeout = \"1s\""))
        + &scripted("frugal", &format!("{all}\nlimits.call-results = \"1 MiB\""))
        + &scripted("rich", &format!("{all}\n{endless}\nlimits.memory = \"256 MiB\""))
        + &scripted("generous", &format!("{all}\ngrants.flows = [\"client -> agent.*\"]"))
        + &abuser("abuser", &format!("{leaky}\ngrants.state = {{}}"))
        + &abuser(
            "sharing",
            &format!(
                "{leaky}\ngrants.state = {{ private = [\"client\"] }}\n\
            grants.flows = [\"client -> connections.service\", \"client -> files\"]"
            ),
        )
        + &plugin("deep-chain", all)
        + &plugin("reverse-flood", r#"grants.agent-tools = ["echo.*"]"#)
        + &plugin("mutual-recursion", all)
        + &plugin("steered", "grants.client.form = true")
        + &plugin("echo", "")
        + &agent("echo", "echo", "")
        + &agent("diary", "echo", "private = true")
        + &agent("secretive", "panic", "private = true")
        + &agent("trap", "panic", "")
        + &agent("poor", "burn", "limits.fuel = 100_000")
        + &agent("endless", "wait-forever", endless)
        + &agent("a", "mutual-recursion", all)
        + &agent("b", "mutual-recursion", all)
        + &(0..10).map(|number| agent(&format!("d{number}"), "deep-chain", all)).collect::<String>()
}

impl Fixture {
    pub(crate) fn new() -> Self {
        let (provider, home) = (Provider::start(), Home::new());
        home.write("service.secret", format!("{}\n", provider.secret()));
        for folder in ["state", "shelf"] {
            fs::create_dir_all(home.path().join(folder)).unwrap();
        }
        let keys = home.keys(["alice", "bob"]);
        let (server, address) = Server::start_http_in(home, &config(&provider));
        Self { server: Mutex::new(server), address, keys, _provider: provider }
    }

    /// The server, to read its log and memory use.
    pub(crate) fn server(&self) -> MutexGuard<'_, Server> {
        self.server.lock().unwrap()
    }

    /// Sends a modern call whose response is never read.
    pub(crate) fn hang(&self, who: Who, mut params: Value) -> TcpStream {
        params["_meta"] = modern_meta(false);
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
        let (key, name, length, address) = (&self.keys[who as usize], &params["name"], body.len(), self.address);
        let name = name.as_str().unwrap();
        let mut stream = TcpStream::connect(address).unwrap();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {key}\r\nMCP-Protocol-Version: 2026-07-28\r\n\
             Mcp-Method: tools/call\r\nMcp-Name: {name}\r\nAccept: application/json, text/event-stream\r\n\
             Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
        );
        stream.write_all((head + &body).as_bytes()).unwrap();
        stream
    }

    /// Sends a modern request and returns its unread response.
    pub(crate) fn open(&self, who: Who, method: &str, mut params: Value, capabilities: &Value) -> Response {
        let mut meta = modern_meta(false);
        meta["io.modelcontextprotocol/clientCapabilities"] = capabilities.clone();
        match params["_meta"].as_object_mut() {
            Some(given) => given.extend(meta.as_object().unwrap().clone()),
            None => params["_meta"] = meta,
        }
        let bearer = format!("Bearer {}", self.keys[who as usize]);
        let name = params["name"].as_str().unwrap_or_default().to_owned();
        let mut headers =
            vec![("Authorization", &*bearer), ("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", method)];
        if !name.is_empty() {
            headers.push(("Mcp-Name", &name));
        }
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        request(self.address, "POST", &headers, &body.to_string())
    }

    /// Sends a modern request and returns the message that answers it.
    pub(crate) fn ask(&self, who: Who, method: &str, params: Value, capabilities: &Value) -> Value {
        let sent = Instant::now();
        let mut response = self.open(who, method, params, capabilities);
        match response.status {
            // Refusals before the message is parsed have their own text.
            200 | 400 => response.answer(1, sent).message,
            status => json!({"status": status, "text": response.text()}),
        }
    }

    /// Alice calls a plugin that runs a script.
    pub(crate) fn run(&self, plugin: &str, script: Value, capabilities: &Value) -> Round<'_> {
        self.call(&format!("{plugin}__run"), json!({"path": script.to_string()}), capabilities)
    }

    /// Alice calls any tool.
    pub(crate) fn call(&self, tool: &str, arguments: Value, capabilities: &Value) -> Round<'_> {
        let params = json!({"name": tool, "arguments": arguments});
        self.send(Who::Alice, params, capabilities)
    }

    /// Makes a call with these params as the given user.
    pub(crate) fn send(&self, who: Who, params: Value, capabilities: &Value) -> Round<'_> {
        let message = self.ask(who, "tools/call", params.clone(), capabilities);
        Round { fixture: self, params, capabilities: capabilities.clone(), message }
    }

    /// Whether the server reports no running or parked call of this principal.
    pub(crate) fn is_idle(&self, who: Who) -> bool {
        let message = self.ask(who, "dev.portcullis/steer", json!({"message": "anybody there?"}), &json!({}));
        message["error"]["message"].as_str().is_some_and(|text| text.contains("no such call is running"))
    }

    /// Waits until nothing runs or is parked.
    pub(crate) fn until_idle(&self) {
        for who in [Who::Alice, Who::Bob] {
            let idle = eventually(PATIENCE, || self.is_idle(who).then_some(()));
            assert!(idle.is_some(), "something of {who:?} still runs\n{}", self.server().log());
        }
    }
}

/// The current round of a call.
pub(crate) struct Round<'a> {
    fixture: &'a Fixture,
    params: Value,
    capabilities: Value,
    pub(crate) message: Value,
}

impl Round<'_> {
    pub(crate) fn result(&self) -> &Value {
        &self.message["result"]
    }

    /// The reverse calls that wait for an outcome.
    pub(crate) fn calls(&self) -> &Map<String, Value> {
        let calls = self.result()["toolCalls"].as_object();
        calls.unwrap_or_else(|| panic!("no reverse calls: {}", self.message))
    }

    /// The only waiting reverse call.
    pub(crate) fn only(&self) -> &Value {
        assert_eq!(self.calls().len(), 1, "{}", self.message);
        self.calls().values().next().unwrap()
    }

    pub(crate) fn continuation(&self) -> &str {
        self.result()["continuation"].as_str().unwrap_or_else(|| panic!("no continuation: {}", self.message))
    }

    /// The params of the retry with these outcomes.
    pub(crate) fn retry(&self, outcomes: Value) -> Value {
        let mut params = self.params.clone();
        params["_meta"] = json!({EXTENSION: {"continuation": self.continuation(), "results": outcomes}});
        params
    }

    /// The same outcome for every waiting call.
    pub(crate) fn all(&self, outcome: &Value) -> Value {
        self.calls().keys().map(|key| (key.clone(), outcome.clone())).collect::<Map<_, _>>().into()
    }

    /// Continues with this outcome for every call.
    pub(crate) fn answer(self, outcome: Value) -> Self {
        let outcomes = self.all(&outcome);
        self.answer_with(outcomes)
    }

    /// Continues with exactly these outcomes.
    pub(crate) fn answer_with(self, outcomes: Value) -> Self {
        let params = self.retry(outcomes);
        let message = self.fixture.ask(Who::Alice, "tools/call", params, &self.capabilities);
        Self { message, ..self }
    }

    /// Continues until the call is done, with the same outcome for every reverse call; returns the number of them per
    /// round.
    pub(crate) fn through(mut self, outcome: &Value) -> (Self, Vec<usize>) {
        let mut rounds = vec![];
        while self.result()["toolCalls"].is_object() {
            rounds.push(self.calls().len());
            self = self.answer(outcome.clone());
        }
        (self, rounds)
    }

    /// A short summary of the outcome: the status or code of a refusal, the number of waiting calls, or the guest's
    /// report on each of its steps.
    pub(crate) fn outcome(&self) -> String {
        let (message, result) = (&self.message, self.result());
        if let Some(status) = message["status"].as_u64() {
            return status.to_string();
        }
        if let Some(code) = message["error"]["code"].as_i64() {
            return code.to_string();
        }
        if let Some(calls) = result["toolCalls"].as_object() {
            return format!("{} asked", calls.len());
        }
        let text = result["content"][0]["text"].as_str().unwrap_or_default();
        if result["isError"] == true {
            let code = result["_meta"]["dev.portcullis/error"]["code"].as_str();
            return code.map_or_else(|| text.to_owned(), str::to_owned);
        }
        match serde_json::from_str::<Value>(text) {
            Ok(Value::Array(steps)) => steps.iter().map(step).collect::<Vec<_>>().join(", "),
            _ => text.to_owned(),
        }
    }
}

/// The outcome of a step; for parallel calls the count of each outcome, in order of first occurrence.
fn step(said: &Value) -> String {
    match said {
        Value::Array(many) => {
            let mut kinds: Vec<(String, usize)> = vec![];
            for kind in many.iter().map(step) {
                match kinds.iter_mut().find(|(known, _)| *known == kind) {
                    Some((_, times)) => *times += 1,
                    None => kinds.push((kind, 1)),
                }
            }
            kinds.into_iter().map(|(kind, times)| format!("{times} {kind}")).collect::<Vec<_>>().join(" + ")
        }
        Value::Object(said) => said.get("error").and_then(Value::as_str).unwrap_or("ok").to_owned(),
        other => other.as_str().map_or_else(|| other.to_string(), str::to_owned),
    }
}

/// A client tool that accepts any arguments.
pub(crate) fn tool(name: &str) -> Value {
    json!({"name": name, "inputSchema": {"type": "object"}})
}

/// The declaration of a client that has these tools, with further fields.
pub(crate) fn declaring(tools: &[Value], further: Value) -> Value {
    let mut declaration = json!({"allowServerCalls": true, "tools": tools});
    declaration.as_object_mut().unwrap().extend(further.as_object().unwrap().clone());
    json!({"extensions": {EXTENSION: declaration}})
}

/// The declaration of a well-behaved client with two tools.
pub(crate) fn decent() -> Value {
    declaring(&[tool("tools.get"), tool("tools.put")], json!({}))
}

/// A script that calls one tool.
pub(crate) fn one(name: &str) -> Value {
    json!([{"call": {"name": name}}])
}

/// A script of parallel calls.
pub(crate) fn many(name: &str, times: usize) -> Value {
    json!([{"many": vec![json!({"name": name}); times]}])
}

/// A successful outcome.
pub(crate) fn good() -> Value {
    json!({"content": [{"type": "text", "text": "here"}]})
}

/// An error outcome with this code.
pub(crate) fn error(code: &str) -> Value {
    json!({"error": {"code": code, "message": "because"}})
}

/// A modern call of a client without a key.
pub(crate) fn bare(address: SocketAddr, mut params: Value, capabilities: &Value) -> Value {
    let mut meta = modern_meta(false);
    meta["io.modelcontextprotocol/clientCapabilities"] = capabilities.clone();
    match params["_meta"].as_object_mut() {
        Some(given) => given.extend(meta.as_object().unwrap().clone()),
        None => params["_meta"] = meta,
    }
    let name = params["name"].as_str().unwrap_or_default().to_owned();
    let headers = [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", &*name)];
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    request(address, "POST", &headers, &body.to_string()).answer(1, Instant::now()).message
}
