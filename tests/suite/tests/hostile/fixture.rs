//! What the rows share: one server with all hostile guests, two principals with keys, and timed control calls of a good
//! tool.

use serde_json::{Value, json};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};
use suite::canary::Canaries;
use suite::client::modern_meta;
use suite::http::{Response, request};
use suite::{Called, Home, PATIENCE, Server, agent, eventually, forge, plugin, plugin_from, portcullis};

/// The two principals with keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Who {
    Alice,
    Bob,
}

pub(super) struct Fixture {
    server: Mutex<Server>,
    pub(super) address: SocketAddr,
    keys: [String; 2],
    pub(super) canaries: Canaries,
    /// When there were no canaries yet. A file that has not been written since then holds none.
    pub(super) began: SystemTime,
    /// Everything that clients received, to be searched for canaries.
    seen: Mutex<String>,
}

const WRITE: &str = r#"grants.filesystem = [{ host = "work", guest = "/work", access = "write" }]"#;
const READ: &str = r#"grants.filesystem = [{ host = "work", guest = "/work", access = "read" }]"#;
const ALL: &str = r#"grants.agent-tools = ["*.*"]"#;
/// A limit that ends every guest soon.
const LITTLE: &str = "limits.fuel = 20_000_000";
const RICH: &str = "limits.fuel = 100_000_000_000";

/// Guests named like their program, with their settings.
const GUESTS: &[(&str, &str)] = &[
    ("spin", LITTLE),
    ("clock-flood", "limits.fuel = 2_000_000"),
    ("stopwatch", ""),
    ("links", ""),
    ("spin-realloc", LITTLE),
    ("spin-after", LITTLE),
    ("log-flood", LITTLE),
    ("recursion", ""),
    ("eat-memory", ""),
    ("eat-memory-slowly", "limits.memory = \"32 MiB\""),
    ("grow-politely", ""),
    ("handles", ""),
    ("giant-result", "limits.memory = \"200 MiB\""),
    ("result-over-output", "limits.hostcall = \"16 MiB\""),
    ("giant-string", "limits.memory = \"128 MiB\""),
    ("random-flood", ""),
    ("wait-forever", "limits.deadline = \"300ms\""),
    ("log-forge", ""),
    ("forged-errors", ""),
    ("stdout-noise", RICH),
    ("chunk-flood", "limits.fuel = 100_000_000_000\nlimits.chunks = 500"),
    ("chunk-big", ""),
    ("chunk-empty", ""),
    ("panic", ""),
    ("unreachable", ""),
    ("exit", ""),
    ("bad-utf8", ""),
    ("bad-json", ""),
    ("wrong-schema", ""),
    ("no-structure", ""),
    ("env-peek", ""),
    ("leftover", ""),
    ("net-connect", ""),
    ("escape-absolute", WRITE),
    ("escape-dotdot", WRITE),
    ("escape-symlink", WRITE),
    ("escape-symlink-create", WRITE),
    ("escape-trailing-slash", WRITE),
    ("write-readonly", READ),
    ("write-unrequested", WRITE),
    ("write-inside", ""),
    ("open-files", READ),
    ("relay", ALL),
    ("self-recursion", ALL),
    ("mutual-recursion", ALL),
    ("deep-chain", ALL),
    ("reverse-flood", ALL),
    ("ungranted-agent-tool", r#"grants.agent-tools = ["echo.*"]"#),
    ("unrequested-agent-tool", ALL),
    ("list-agent-tools", ""),
    ("ask", "grants.client = { form = true, sample = { calls = 16, tokens = 100_000 } }"),
    ("publish-all", "grants.publish = true"),
    ("header-param", ""),
    ("provider", ""),
    ("echo", ""),
];

/// Behaviours of `tests/guests/wat`.
const FORGED: &[(&str, &str)] = &[
    ("table-grow", ""),
    ("table-grow-wrap", ""),
    ("deep-call", ""),
    ("divide", ""),
    ("out-of-bounds", ""),
    ("answer-nowhere", ""),
    ("wrong-case", ""),
    ("amplify", ""),
    ("spin-post-return", LITTLE),
    ("bulk", LITTLE),
    ("memory-grow-wrap", ""),
    ("resource-flood", RICH),
    ("spin-destructor", LITTLE),
    ("table-fill", LITTLE),
    ("tail-call", LITTLE),
    ("typed-call", LITTLE),
    ("wrong-signature", ""),
    ("answer-overflow", ""),
    ("realloc-nowhere", ""),
    ("realloc-askew", ""),
    ("fat-frames", ""),
];

fn config(home: &Home) -> String {
    let mut text = "[server]\nstate = \"state\"\n[server.auth]\nkeys = \"keys.toml\"\n\n".to_owned();
    // Rows call failing guests repeatedly, so the circuit breaker is off.
    let always = |settings: &str| format!("{settings}\nlimits.breaker.failures = 0");
    text.extend(GUESTS.iter().map(|(name, settings)| plugin(name, &always(settings))));
    for (name, settings) in FORGED {
        let component = home.write(&format!("{name}.wasm"), forge::behaviour(name));
        text += &plugin_from(name, &component, &always(settings));
    }
    let ticks = always("limits.metering = \"ticks\"\nlimits.cpu = \"200ms\"");
    text += &plugin_from("ticks", &suite::paths::guest("spin"), &ticks);
    text += &plugin_from("patient", &suite::paths::guest("spin"), &always("limits.fuel = 300_000_000"));
    let brief = "grants.client = { form = true, url = [\"example.com\"] }\nlimits.answer-timeout = \"1s\"";
    text += &plugin_from("ask-briefly", &suite::paths::guest("ask"), brief);
    text += &plugin_from("random", &suite::paths::guest("random-flood"), "");
    text += &(agent("echo", "echo", "") + &agent("poor", "burn", "limits.fuel = 100_000"));
    text += &(agent("self", "self-recursion", ALL) + &agent("trap", "panic", ""));
    text += &(agent("a", "mutual-recursion", ALL) + &agent("b", "mutual-recursion", ALL));
    text.extend((0..10).map(|number| agent(&format!("d{number}"), "deep-chain", ALL)));
    text
}

impl Fixture {
    pub(super) fn new() -> Self {
        let home = Home::new();
        std::fs::create_dir_all(home.path().join("state")).unwrap();
        let began = std::fs::metadata(home.path().join("state")).and_then(|state| state.modified()).unwrap();
        let keys = home.keys(["alice", "bob"]);
        let (config, mut canaries) = (config(&home), Canaries::new());
        let environment = canaries.put("the environment");
        // Freed large buffers are returned at once, so that measurements show what the host holds; see `budgets`.
        let server = Server::spawn(home, &config, &["--http", "127.0.0.1:0"], |command| {
            command.env("MALLOC_MMAP_THRESHOLD_", "131072").env("PORTCULLIS_SUITE_CANARY", environment);
        });
        canaries.keep("alice's key", &keys[0]);
        canaries.keep("bob's key", &keys[1]);
        let address = server.address();
        // A reverse call of an agent-side plugin that is not loaded yet is refused.
        server.wait_until_loaded();
        Self { server: Mutex::new(server), address, keys, canaries, began, seen: Mutex::default() }
    }

    /// The server, for its log and memory.
    pub(super) fn server(&self) -> MutexGuard<'_, Server> {
        self.server.lock().unwrap()
    }

    /// Records what a client received.
    pub(super) fn note(&self, text: &str) {
        let mut seen = self.seen.lock().unwrap();
        seen.push_str(text);
        seen.push('\n');
    }

    /// Everything that clients received.
    pub(super) fn seen(&self) -> String {
        self.seen.lock().unwrap().clone()
    }

    pub(super) fn bearer(&self, who: Who) -> String {
        format!("Bearer {}", self.keys[who as usize])
    }

    /// Sends a valid modern request; returns the answering message, or the HTTP status.
    pub(super) fn ask(&self, who: Who, method: &str, params: Value) -> Value {
        self.ask_able(who, method, params, &json!({}))
    }

    /// Like `ask`, from a client with these capabilities.
    pub(super) fn ask_able(&self, who: Who, method: &str, mut params: Value, capabilities: &Value) -> Value {
        params["_meta"] = modern_meta(false);
        params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = capabilities.clone();
        let name = params["name"].as_str().or(params["uri"].as_str()).unwrap_or_default().to_owned();
        let name = if name.bytes().all(|byte| byte.is_ascii_graphic()) { name } else { encoded(&name) };
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        let bearer = self.bearer(who);
        let mut headers =
            vec![("Authorization", &*bearer), ("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", method)];
        if !name.is_empty() {
            headers.push(("Mcp-Name", &name));
        }
        let sent = Instant::now();
        let response = request(self.address, "POST", &headers, &body);
        let message = match response.status {
            200 | 400 => response.answer(1, sent).message,
            status => json!({"status": status}),
        };
        self.note(&message.to_string());
        message
    }

    /// Calls the tool of a guest as Alice; returns the outcome in a few words.
    pub(super) fn run(&self, guest: &str, arguments: Value) -> String {
        outcome(&self.call(guest, arguments))
    }

    /// Like `run`, but returns the whole message.
    pub(super) fn call(&self, guest: &str, arguments: Value) -> Value {
        self.ask(Who::Alice, "tools/call", json!({"name": format!("{guest}__run"), "arguments": arguments}))
    }

    /// Like `call`, as a `Called`.
    pub(super) fn called(&self, guest: &str, arguments: Value) -> Called {
        let (message, now) = (self.call(guest, arguments), Instant::now());
        Called(suite::Answer { message, notifications: vec![], sent: now, answered: now })
    }

    /// Sends a raw request to any path; returns its status and the error code in its body.
    pub(super) fn raw(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> String {
        let text = self.bytes(&self.head(method, path, headers, Some(body.len())), body);
        let status = text.split(' ').nth(1).unwrap_or("nothing").to_owned();
        let code = text.split("\"code\":").nth(1).map(|rest| rest.split([',', '}']).next().unwrap_or_default());
        code.map_or(status.clone(), |code| format!("{status} {code}"))
    }

    /// The head of a request from Alice; `headers` replace the usual ones.
    pub(super) fn head(&self, method: &str, path: &str, headers: &[(&str, &str)], length: Option<usize>) -> String {
        let bearer = self.bearer(Who::Alice);
        let (host, length) = (self.address.to_string(), length.map(|length| length.to_string()));
        let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        for (name, value) in [
            ("Host", Some(&*host)),
            ("Authorization", Some(&*bearer)),
            ("Accept", Some("application/json, text/event-stream")),
            ("Content-Type", Some("application/json")),
            ("MCP-Protocol-Version", Some("2026-07-28")),
            ("Mcp-Method", Some("tools/list")),
            ("Content-Length", length.as_deref()),
        ] {
            let given = headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name));
            if let (Some(value), false) = (value, given) {
                head += &format!("{name}: {value}\r\n");
            }
        }
        // The value `-` omits a header.
        let given = headers.iter().filter(|(_, value)| *value != "-");
        head.extend(given.map(|(name, value)| format!("{name}: {value}\r\n")));
        head + "\r\n"
    }

    /// Sends bytes and reads until the server closes the connection, which it may do before it has read everything.
    pub(super) fn bytes(&self, head: &str, body: &[u8]) -> String {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
        let mut text = Vec::new();
        let _ = stream.read_to_end(&mut text);
        let text = String::from_utf8_lossy(&text).into_owned();
        self.note(&text);
        text
    }

    /// Runs `check` on these bytes.
    pub(super) fn check(&self, bytes: &[u8]) -> String {
        let home = Home::new();
        self.check_file(&home, &home.write("candidate.wasm", bytes))
    }

    /// Runs `check` on a file.
    pub(super) fn check_file(&self, home: &Home, file: &Path) -> String {
        let ran = portcullis(home, &["check", &file.display().to_string()]);
        self.note(&format!("{}{}", ran.stdout, ran.stderr));
        match ran.status {
            Some(0) => "loaded".to_owned(),
            _ => {
                let said = ran.refused().lines().last().unwrap_or_default();
                format!("refused: {}", said.split("] ").nth(1).unwrap_or(said))
            }
        }
    }

    /// Sends a call without reading its answer.
    pub(super) fn hang(&self, guest: &str) -> TcpStream {
        let name = format!("{guest}__run");
        let params = json!({"name": name, "arguments": {}, "_meta": modern_meta(false)});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
        let head = self.head("POST", "/mcp", &[("Mcp-Method", "tools/call"), ("Mcp-Name", &name)], Some(body.len()));
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.write_all((head + &body).as_bytes()).unwrap();
        stream
    }

    /// Waits until no call is running or parked.
    pub(super) fn until_idle(&self) {
        for who in [Who::Alice, Who::Bob] {
            let idle = eventually(PATIENCE, || {
                let message = self.ask(who, "dev.portcullis/steer", json!({"message": "anybody there?"}));
                message["error"]["message"].as_str().filter(|text| text.contains("no such call is running")).map(drop)
            });
            assert!(idle.is_some(), "something of {who:?} still runs\n{}", self.server().log());
        }
    }

    /// The resident memory once it is at most `goal`, or after 10 s.
    pub(super) fn settled(&self, goal: u64) -> u64 {
        let memory = || self.server().memory();
        let below = eventually(Duration::from_secs(10), || Some(memory()).filter(|&memory| memory <= goal));
        below.unwrap_or_else(memory)
    }
}

/// A header value in the Base64 form for text that headers cannot carry.
pub(super) fn encoded(text: &str) -> String {
    use base64::Engine as _;
    format!("=?base64?{}?=", base64::engine::general_purpose::STANDARD.encode(text))
}

/// The outcome of a request: an HTTP status, a protocol error code, a host error code, or the guest's text.
pub(super) fn outcome(message: &Value) -> String {
    if let Some(status) = message["status"].as_u64() {
        return status.to_string();
    }
    if let Some(code) = message["error"]["code"].as_i64() {
        return code.to_string();
    }
    let result = &message["result"];
    let text = result["content"][0]["text"].as_str().unwrap_or_default();
    if result["resultType"] == "input_required" {
        return "asks".to_owned();
    }
    let code = result["_meta"]["dev.portcullis/error"]["code"].as_str();
    match (result["isError"] == true, code) {
        (true, Some("tool-failed") | None) => format!("failed: {text}"),
        (true, Some(code)) => code.to_owned(),
        (false, _) => format!("ok: {text}"),
    }
}

/// A well-behaved client that calls a good tool again and again until stopped.
pub(super) struct Control {
    stop: Arc<AtomicBool>,
    calling: JoinHandle<Vec<Duration>>,
}

impl Control {
    pub(super) fn start(fixture: &Fixture) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, address, bearer) = (stop.clone(), fixture.address, fixture.bearer(Who::Bob));
        let calling = std::thread::spawn(move || {
            let mut times = Vec::new();
            while !stopped.load(Ordering::Relaxed) {
                let began = Instant::now();
                let answer = control_call(address, &bearer).answer(1, began).message;
                times.push(began.elapsed());
                assert_eq!(answer["result"]["structuredContent"]["n"], 7, "{answer}");
                // The pause keeps this from being a flood, which other tests cover.
                std::thread::sleep(Duration::from_millis(5));
            }
            times
        });
        Self { stop, calling }
    }

    /// Stops the client; returns the number of calls and the 99th percentile of their times.
    pub(super) fn stop(self) -> (usize, Duration) {
        self.stop.store(true, Ordering::Relaxed);
        let mut times = self.calling.join().expect("a control call failed");
        times.sort();
        (times.len(), times[times.len() * 99 / 100])
    }
}

fn control_call(address: SocketAddr, bearer: &str) -> Response {
    let params = json!({"name": "echo__run", "arguments": {"n": 7}, "_meta": modern_meta(false)});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
    let headers = [
        ("Authorization", bearer),
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", "echo__run"),
    ];
    let response = request(address, "POST", &headers, &body);
    assert_eq!(response.status, 200, "a control call");
    response
}
