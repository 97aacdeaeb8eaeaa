//! A client over Streamable HTTP that shows every header and can close the connection at any moment.

use crate::PATIENCE;
use crate::called::{Answer, Called};
use crate::client::{capabilities, modern_meta};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Instant;

/// A response whose body is still being received.
pub struct Response {
    /// The status code, such as 200.
    pub status: u16,
    headers: Vec<(String, String)>,
    body: Body,
}

/// One event of a stream.
#[derive(Debug, Default)]
pub struct Event {
    /// The event id, to resume after a broken connection.
    pub id: Option<String>,
    /// Milliseconds to wait before resuming.
    pub retry: Option<u64>,
    /// The message, if the event has data.
    pub message: Option<Value>,
}

impl Response {
    /// A header, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The next message of the body, which is one JSON text or a stream of events; `None` at its end.
    pub fn message(&mut self) -> Option<Value> {
        if self.header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream")) {
            // An event without data is a priming event.
            return std::iter::from_fn(|| self.event()).find_map(|event| event.message);
        }
        let mut text = String::new();
        self.body.read_to_string(&mut text).expect("reading a body");
        let text = text.trim();
        (!text.is_empty()).then(|| serde_json::from_str(text).unwrap_or_else(|_| panic!("not JSON: {text}")))
    }

    /// The sentence of an error, and the message if it is one: an error that answers a request has its id, since some clients wait
    /// for ever otherwise; any other is its sentence alone.
    pub fn refusal(&mut self) -> (String, Option<Value>) {
        if self.header("content-type").is_some_and(|kind| kind.starts_with("text/plain")) {
            return (self.text(), None);
        }
        let message = self.message().unwrap_or_else(|| panic!("an error {} without a word", self.status));
        assert!(message["jsonrpc"] == "2.0" && !message["id"].is_null(), "{message}");
        (message["error"]["message"].as_str().unwrap_or_default().to_owned(), Some(message))
    }

    /// The rest of the body as text.
    pub fn text(&mut self) -> String {
        let mut text = String::new();
        self.body.read_to_string(&mut text).expect("reading a body");
        text
    }

    /// All headers, names in lower case.
    pub fn headers(&self) -> &[(String, String)] {
        &self.headers
    }

    /// The next event of a stream; `None` when it ends or the connection breaks.
    pub fn event(&mut self) -> Option<Event> {
        let (mut event, mut data) = (Event::default(), String::new());
        loop {
            let mut line = String::new();
            if self.body.read_line(&mut line).unwrap_or(0) == 0 {
                return None;
            }
            let line = line.trim_end_matches(['\n', '\r']);
            match line.split_once(':') {
                Some(("data", part)) => data.push_str(part.trim_start()),
                Some(("id", id)) => event.id = Some(id.trim_start().to_owned()),
                Some(("retry", pause)) => event.retry = pause.trim().parse().ok(),
                // A line that starts with a colon is a keep-alive comment.
                Some(_) => {}
                None if !data.is_empty() => {
                    event.message = Some(serde_json::from_str(&data).unwrap_or_else(|_| panic!("not JSON: {data}")));
                    return Some(event);
                }
                None if event.id.is_some() || event.retry.is_some() => return Some(event),
                None => {}
            }
        }
    }

    /// Reads on until the answer to a request.
    pub fn answer(mut self, id: u64, sent: Instant) -> Answer {
        let mut notifications = Vec::new();
        while let Some(message) = self.message() {
            if message["id"] == id && message.get("method").is_none() {
                return Answer { message, notifications, sent, answered: Instant::now() };
            }
            notifications.push((Instant::now(), message));
        }
        panic!("the stream ended without an answer to {id}; it held {notifications:?}")
    }
}

/// Sends one request to `/mcp` and reads the head of its response. Header lines in `headers` come after the usual ones.
pub fn request(address: SocketAddr, method: &str, headers: &[(&str, &str)], body: &str) -> Response {
    request_at(address, method, "/mcp", headers, body)
}

/// The same to any path.
pub fn request_at(address: SocketAddr, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Response {
    let mut stream = TcpStream::connect(address).expect("connecting to the server");
    stream.set_read_timeout(Some(PATIENCE)).expect("setting a time-out");
    let has = |name: &str| headers.iter().any(|(key, _)| key.eq_ignore_ascii_case(name));
    let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
    if !has("transfer-encoding") {
        head += &format!("Content-Length: {}\r\n", body.len());
    }
    if !has("host") {
        head += &format!("Host: {address}\r\n");
    }
    if !has("accept") {
        head += "Accept: application/json, text/event-stream\r\n";
    }
    if !has("content-type") {
        head += "Content-Type: application/json\r\n";
    }
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    stream.write_all(format!("{head}\r\n{body}").as_bytes()).expect("sending a request");
    let mut reader = BufReader::new(stream);
    let mut line = || {
        let mut line = String::new();
        reader.read_line(&mut line).expect("reading a response");
        line.trim_end().to_owned()
    };
    let status = line();
    let status = status.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or_else(|| panic!("{status:?}"));
    let mut headers = Vec::new();
    while let Some((name, value)) = line().split_once(':') {
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let chunked = headers.iter().any(|(name, value)| name == "transfer-encoding" && value == "chunked");
    let body = Body { reader, left: if chunked { Left::Chunk(0) } else { Left::UntilClosed }, ready: vec![], at: 0 };
    Response { status, headers, body }
}

/// A modern request with its three headers.
pub fn modern(address: SocketAddr, id: u64, method: &str, mut params: Value, extension: bool) -> Response {
    let token = params["_meta"]["progressToken"].take();
    params["_meta"] = modern_meta(extension);
    if !token.is_null() {
        params["_meta"]["progressToken"] = token;
    }
    let name = params["name"].as_str().or(params["uri"].as_str()).unwrap_or_default().to_owned();
    let mut headers = vec![("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", method)];
    if !name.is_empty() {
        headers.push(("Mcp-Name", &name));
    }
    let body = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
    request(address, "POST", &headers, &body.to_string())
}

/// A modern call of a tool, including its answer.
pub fn call(address: SocketAddr, tool: &str, arguments: Value, extension: bool) -> Called {
    let sent = Instant::now();
    let response = modern(address, 1, "tools/call", json!({"name": tool, "arguments": arguments}), extension);
    assert_eq!(response.status, 200);
    Called(response.answer(1, sent))
}

/// Opens a legacy session. Returns the headers for its requests.
pub fn legacy_session(address: SocketAddr, extension: bool) -> Vec<(String, String)> {
    legacy_session_of(address, extension, "2025-11-25", &[])
}

/// The same in a given protocol version and with further headers.
pub fn legacy_session_of(
    address: SocketAddr,
    extension: bool,
    version: &str,
    further: &[(&str, &str)],
) -> Vec<(String, String)> {
    legacy_session_able(address, &capabilities(extension), version, further)
}

/// The same for a client with the given capabilities.
pub fn legacy_session_able(
    address: SocketAddr,
    capabilities: &Value,
    version: &str,
    further: &[(&str, &str)],
) -> Vec<(String, String)> {
    let params = json!({
        "protocolVersion": version,
        "capabilities": capabilities,
        "clientInfo": {"name": "suite", "version": "0"},
    });
    let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
    let response = request(address, "POST", further, &body.to_string());
    assert_eq!(response.status, 200);
    let mut headers = vec![("MCP-Protocol-Version".to_owned(), version.to_owned())];
    headers.extend(response.header("mcp-session-id").map(|id| ("Mcp-Session-Id".to_owned(), id.to_owned())));
    headers.extend(further.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    let answer = response.answer(0, Instant::now());
    assert_eq!(answer.result()["protocolVersion"], version);
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(legacy(address, &headers, "POST", &[], &ready.to_string()).status, 202);
    headers
}

/// A request in a legacy session.
pub fn legacy(
    address: SocketAddr,
    session: &[(String, String)],
    method: &str,
    further: &[(&str, &str)],
    body: &str,
) -> Response {
    let session = session.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let headers: Vec<_> = session.chain(further.iter().copied()).collect();
    request(address, method, &headers, body)
}

enum Left {
    Chunk(usize),
    UntilClosed,
    Nothing,
}

/// A reader that decodes chunked transfer encoding.
struct Body {
    reader: BufReader<TcpStream>,
    left: Left,
    ready: Vec<u8>,
    at: usize,
}

impl BufRead for Body {
    fn fill_buf(&mut self) -> std::io::Result<&[u8]> {
        if self.at == self.ready.len() {
            self.ready.clear();
            self.at = 0;
            if let Left::Chunk(0) = self.left {
                let mut size = String::new();
                self.reader.read_line(&mut size)?;
                let size = usize::from_str_radix(size.trim(), 16).unwrap_or(0);
                self.left = if size == 0 { Left::Nothing } else { Left::Chunk(size) };
            }
            match self.left {
                Left::Nothing => {}
                Left::UntilClosed => {
                    self.ready = self.reader.fill_buf()?.to_vec();
                    self.reader.consume(self.ready.len());
                }
                Left::Chunk(size) => {
                    self.ready.resize(size, 0);
                    self.reader.read_exact(&mut self.ready)?;
                    let mut end = [0; 2];
                    self.reader.read_exact(&mut end)?;
                    self.left = Left::Chunk(0);
                }
            }
        }
        Ok(&self.ready[self.at..])
    }

    fn consume(&mut self, amount: usize) {
        self.at += amount;
    }
}

impl Read for Body {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let amount = self.fill_buf()?.read(buffer)?;
        self.consume(amount);
        Ok(amount)
    }
}
