//! Checks that run before any handler: origin, host, path, method and body size.

use serde_json::{Value, json};
use std::net::SocketAddr;
use suite::client::modern_meta;
use suite::http::{Response, request, request_at};
use suite::{Home, Server, plugin};

const MODERN: [(&str, &str); 2] = [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/list")];
const METHODS: [&str; 5] = ["POST", "GET", "DELETE", "OPTIONS", "PUT"];
const PATHS: [&str; 5] = ["/mcp", "/health", "/ready", "/mcp/else", "/nowhere"];

fn list() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": modern_meta(false)}})
}

fn error_of(mut response: Response) -> (u16, Value) {
    let (sentence, message) = response.refusal();
    assert!(!sentence.is_empty() && message.as_ref().is_none_or(|message| message["id"] == 1), "{sentence}");
    (response.status, message.unwrap_or_default()["error"]["code"].clone())
}

#[test]
fn every_path_and_method_is_guarded() {
    let (_server, address) = Server::start_http(&plugin("echo", ""));
    let body = list().to_string();
    for path in PATHS {
        for method in METHODS {
            let ask = |extra: &[(&str, &str)]| {
                let headers: Vec<_> = MODERN.iter().chain(extra).copied().collect();
                request_at(address, method, path, &headers, &body).status
            };
            assert_ne!(ask(&[]), 403, "{method} {path}");
            for origin in ["http://evil.example", "null", "http://localhost.evil.example", "http://localhost"] {
                assert_eq!(ask(&[("Origin", origin)]), 403, "{method} {path} from {origin}");
            }
            for host in ["evil.example", "169.254.169.254", "127.0.0.1.evil.example:80", "user@localhost"] {
                assert_eq!(ask(&[("Host", host)]), 403, "{method} {path} at {host}");
            }
            for host in ["localhost:1", "127.0.0.1", "[::1]:80"] {
                assert_ne!(ask(&[("Host", host)]), 403, "{method} {path} at {host}");
            }
            assert_eq!(ask(&[("Host", "localhost"), ("Host", "localhost")]), 400, "{method} {path}: two hosts");
        }
    }
}

#[test]
fn an_allowed_origin_may_read_responses() {
    let config = format!("[server]\nallowed-origins = [\"https://app.example.com\"]\n{}", plugin("echo", ""));
    let (_server, address) = Server::start_http(&config);
    let origin = ("Origin", "https://app.example.com");
    let asked = [origin, ("Access-Control-Request-Method", "POST"), ("Access-Control-Request-Headers", "mcp-method")];
    let preflight = request(address, "OPTIONS", &asked, "");
    assert_eq!(preflight.status, 204);
    assert_eq!(preflight.header("access-control-allow-origin"), Some("https://app.example.com"));
    assert_eq!(preflight.header("access-control-allow-headers"), Some("mcp-method"));
    let response = request(address, "POST", &[MODERN[0], MODERN[1], origin], &list().to_string());
    assert_eq!(response.status, 200);
    assert_eq!(response.header("access-control-allow-origin"), Some("https://app.example.com"));
    let other = request(address, "OPTIONS", &[("Origin", "https://app.example.com:444")], "");
    assert_eq!((other.status, other.header("access-control-allow-origin")), (403, None));
}

#[test]
fn health_checks_answer_and_other_paths_and_methods_are_refused() {
    let (_server, address) = Server::start_http(&plugin("echo", ""));
    let ask = |path: &str, method: &str, headers: &[(&str, &str)]| request_at(address, method, path, headers, "");
    let mut health = ask("/health", "GET", &[]);
    assert_eq!((health.status, health.message()), (200, Some(json!({"status": "up"}))));
    let mut ready = ask("/ready", "GET", &[]);
    assert_eq!((ready.status, ready.message()), (200, Some(json!({"status": "ready"}))));
    for path in ["/mcp/", "/mcp/else", "/nowhere", "/health/deep"] {
        assert_eq!(error_of(ask(path, "GET", &[])), (404, Value::Null), "{path}");
    }
    let session = ("Mcp-Session-Id", "AAAAAAAAAAAAAAAAAAAAAA");
    let (old, new) = (("MCP-Protocol-Version", "2025-11-25"), ("MCP-Protocol-Version", "2026-07-28"));
    for (method, headers, status) in [
        ("PUT", &[][..], 405),
        ("OPTIONS", &[], 405),
        ("GET", &[new], 405),
        ("DELETE", &[new], 405),
        ("GET", &[], 400),
        ("DELETE", &[old], 400),
        ("GET", &[old, session], 404),
        ("DELETE", &[old, session], 404),
        ("GET", &[old, session, session], 400),
    ] {
        assert_eq!(ask("/mcp", method, headers).status, status, "{method} {headers:?}");
    }
    assert_eq!(
        request(address, "POST", &[old, session], &list().to_string()).status,
        400,
        "the body says another version"
    );
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string();
    assert_eq!(request(address, "POST", &[old, session], &body).status, 404);
    assert_eq!(request(address, "POST", &[old], &body).status, 400);
}

fn post(address: SocketAddr, body: &str) -> (u16, Value) {
    error_of(request(address, "POST", &MODERN, body))
}

#[test]
fn a_body_must_be_json_within_the_size_and_depth_limits() {
    let (mut server, address) = Server::start_http(&format!("[server]\nmax-body = \"64 KiB\"\n{}", plugin("echo", "")));
    for body in ["", "{", "hello", "{\"jsonrpc\":\"2.0\",}", "\u{0}"] {
        assert_eq!(post(address, body), (400, Value::Null), "{body:?}");
    }
    for body in ["[]", "{}", "null", "{\"jsonrpc\":\"2.0\"}", "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]"] {
        assert_eq!(post(address, body), (400, Value::Null), "{body:?}");
    }
    assert_eq!(post(address, "{\"id\":1,\"method\":\"ping\",}"), (400, json!(-32700)), "its id can be read");
    let with = |more: Value| {
        let mut list = list();
        list["params"]["x"] = more;
        list.to_string()
    };
    let padded = |length: usize| with(json!("x".repeat(length - with(json!("")).len())));
    assert_eq!(request(address, "POST", &MODERN, &padded(64 << 10)).status, 200);
    for length in [(64 << 10) + 1, 1 << 20, 8 << 20] {
        assert_eq!(post(address, &padded(length)), (413, json!(-32600)), "{length} bytes");
    }
    let (chunk, once) = (format!("1000\r\n{}\r\n", "x".repeat(4096)), ("Transfer-Encoding", "chunked"));
    let chunked = format!("{}0\r\n\r\n", chunk.repeat(20));
    assert_eq!(error_of(request(address, "POST", &[MODERN[0], MODERN[1], once], &chunked)), (413, Value::Null));
    // As the TypeScript SDK writes it.
    let (params, last) = (json!({"x": "x".repeat(100 << 10)}), r#""jsonrpc":"2.0","id":1}"#);
    let at_the_end = format!(r#"{{"method":"tools/list","params":{params},{last}"#);
    assert_eq!(post(address, &at_the_end), (413, json!(-32600)));

    let nested = |levels: usize| with(serde_json::from_str(&("[".repeat(levels) + &"]".repeat(levels))).unwrap());
    assert_eq!(request(address, "POST", &MODERN, &nested(62)).status, 200, "64 with the two around it");
    assert_eq!(post(address, &nested(63)), (400, json!(-32600)));
    assert_eq!(post(address, &"[".repeat(60 << 10)), (400, Value::Null), "not even JSON");
    assert_eq!(request(address, "POST", &MODERN, &with(json!("[{\"[{".repeat(1_000)))).status, 200, "text is no depth");
    assert_eq!(request(address, "POST", &MODERN, &list().to_string()).status, 200);
    assert!(server.is_alive());
}

#[test]
fn the_default_body_limit_is_4_mib() {
    let (_server, address) = Server::start_http(&plugin("echo", ""));
    let of = |length: usize| {
        let mut list = list();
        list["params"]["x"] = json!("x".repeat(length));
        list.to_string()
    };
    assert_eq!(request(address, "POST", &MODERN, &of((4 << 20) - 1_000)).status, 200);
    assert_eq!(post(address, &of(4 << 20)), (413, json!(-32600)));
}

#[test]
fn serve_refuses_to_start_when_its_state_cannot_be_stored() {
    let refused = |home: Home, words: &str| {
        let ran = suite::portcullis(&home, &["serve", "--config", "p.toml", "--http", "127.0.0.1:0"]);
        assert!(ran.refused().contains(words), "{}", ran.stderr);
    };
    let home = |state: &str| {
        let home = Home::new();
        home.write("p.toml", format!("[server]\nstate = {state:?}\n{}", plugin("echo", "")));
        home
    };
    refused(home("p.toml"), "set PORTCULLIS_STATE or server.state");
    let broken = home("state");
    std::fs::create_dir(broken.path().join("state")).unwrap();
    broken.write("state/portcullis.db", "a text that is long enough to be taken for a database, but is none at all");
    refused(broken, "portcullis.db cannot be used");
    let (server, _) = Server::start_http(&plugin("echo", ""));
    let taken = server.home.path().join("state").display().to_string();
    refused(home(&taken), "in use by another portcullis");
}

/// Clients show what stands in the body.
#[test]
fn every_error_of_http_has_a_sentence_and_the_id_of_its_request() {
    let (_server, address) = Server::start_http(&plugin("echo", ""));
    let all = ("Accept", "application/json, text/event-stream");
    let json_body = ("Content-Type", "application/json");
    // A request of 2025-11-25.
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string();
    type Headers<'a> = &'a [(&'a str, &'a str)];
    let requests: [(&str, &str, Headers, u16, &str); 9] = [
        ("POST", "/mcp", &[("Accept", "text/html"), json_body], 406, "text/event-stream"),
        ("GET", "/mcp", &[("Accept", "text/html")], 406, "text/event-stream"),
        ("POST", "/mcp", &[all, ("Content-Type", "text/plain")], 415, "application/json"),
        ("POST", "/mcp", &[all, json_body], 400, "`initialize`"),
        ("GET", "/mcp", &[all], 400, "`initialize`"),
        ("POST", "/mcp", &[all, json_body, ("Mcp-Session-Id", "x")], 404, "Session not found"),
        ("POST", "/mcp", &[all, json_body, ("MCP-Protocol-Version", "2031-01-01")], 400, "2031-01-01"),
        ("PUT", "/mcp", &[all], 405, "Allow"),
        ("GET", "/mcp/else", &[all], 404, "/mcp"),
    ];
    for (method, path, headers, status, part) in requests {
        let mut response = request_at(address, method, path, headers, &body);
        let (sentence, message) = response.refusal();
        assert!(response.status == status && sentence.contains(part), "{method} {path}: {sentence}");
        let id = (method == "POST").then_some(json!(1));
        assert_eq!(message.map(|message| message["id"].clone()), id, "{method} {path}: {sentence}");
    }
}

#[test]
fn the_root_says_what_this_is() {
    let (_server, address) = Server::start_http(&plugin("echo", ""));
    let mut json = request_at(address, "GET", "/", &[("Accept", "application/json")], "");
    assert_eq!((json.status, json.message().unwrap()["mcp"].clone()), (200, json!("/mcp")));
    let mut text = request_at(address, "GET", "/", &[("Accept", "text/html")], "");
    assert_eq!(text.header("content-type"), Some("text/plain; charset=utf-8"));
    assert!(text.text().contains("/mcp"));
}
