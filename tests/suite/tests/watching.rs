//! Observability: metrics, trace spans, and JSON logs.

use serde_json::{Value, json};
use std::net::SocketAddr;
use suite::http::request_at;
use suite::web::{Reply, Web};
use suite::{Client, Home, Server, agent, paths, plugin, plugin_from, with_manifest};

fn config(head: &str) -> String {
    head.to_owned()
        + &plugin("relay", r#"grants.agent-tools = ["echo.*"]"#)
        + &agent("echo", "echo", "")
        + &plugin("ungranted-agent-tool", "")
}

fn metrics_of(server: &Server) -> SocketAddr {
    let line = server.wait_for_log("metrics on http://");
    let address = line.split("http://").nth(1).and_then(|rest| rest.split("/metrics").next()).unwrap();
    address.parse().unwrap()
}

#[test]
fn counters_are_served_beside_the_tools() {
    let mut client = Client::of(&config("[server]\nmetrics = \"127.0.0.1:0\"\n"));
    let address = metrics_of(&client.server);
    client.run("relay", json!({"path": "echo.run"})).good();
    assert!(client.run("ungranted-agent-tool", json!({})).is_error());
    client.request("tools/call", json!({"name": "nobody__knows", "arguments": {}})).error_code();
    let get = |path: &str, host: &str| request_at(address, "GET", path, &[("Host", host)], "");
    let mut answer = get("/metrics", &address.to_string());
    assert_eq!(answer.status, 200);
    assert!(answer.header("content-type").unwrap().starts_with("application/openmetrics-text"));
    let text = answer.text();
    for line in [
        r#"portcullis_calls_total{plugin="plugins.relay",tool="run",outcome="ok"} 1"#,
        r#"portcullis_calls_total{plugin="agent.echo",tool="run",outcome="ok"} 1"#,
        r#"portcullis_denials_total{plugin="plugins.ungranted-agent-tool",capability="agent-tools"} 1"#,
        r#"portcullis_reverse_calls_total{plugin="plugins.relay",lane="local",outcome="ok"} 1"#,
        r#"portcullis_calls_in_progress{plugin="plugins.relay"} 0"#,
        "portcullis_parked_calls 0",
        "portcullis_open_tasks 0",
        "portcullis_audit_lost_records_total 0",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
    }
    assert!(!text.contains("nobody"), "what a client makes up is no label");
    assert_eq!(get("/mcp", &address.to_string()).status, 404, "there are no tools here");
    assert_eq!(get("/metrics", "evil.example").status, 403);
}

#[test]
fn a_call_and_its_imports_form_one_trace() {
    let collector = Web::serve(|_| Reply::json(json!({})));
    let mut client = Client::of(&config(&format!("[telemetry]\notlp = \"{}\"\n", collector.url(""))));
    let (trace, above) = ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331");
    let meta = json!({"traceparent": format!("00-{trace}-{above}-01")});
    let params = json!({"name": "relay__run", "arguments": {"path": "echo.run"}, "_meta": meta});
    client.request("tools/call", params).result();
    assert!(client.server.end().success());
    let exports = collector.seen();
    assert!(exports.iter().all(|seen| seen.path() == "/v1/traces"), "{}", exports[0].path());
    let spans: Vec<Value> = exports.iter().flat_map(spans).collect();
    let named = |name: &str| spans.iter().filter(|span| span["name"] == name).cloned().collect::<Vec<_>>();
    let (calls, reverse) = (named("execute_tool run"), named("tools/call echo.run"));
    assert_eq!((calls.len(), reverse.len(), spans.len()), (2, 1, 3), "{spans:?}");
    let root = calls.iter().find(|span| span["parentSpanId"] == above).expect("a call below the client's span");
    assert_eq!(reverse[0]["parentSpanId"], root["spanId"]);
    let nested = calls.iter().find(|span| span["spanId"] != root["spanId"]).unwrap();
    assert_eq!(nested["parentSpanId"], reverse[0]["spanId"]);
    assert!(spans.iter().all(|span| span["traceId"] == trace));
    let attributes = root["attributes"].to_string();
    assert!(attributes.contains("plugins.relay") && attributes.contains("portcullis.outcome"), "{attributes}");
}

/// Configures the guest `everything` with its grants; `web` answers its HTTP requests.
fn everything(home: &Home, web: &Web) -> String {
    let url = format!("GET http://127.0.0.1:{}/", web.address.port());
    let requests = json!({
        "scratch": true, "state": true, "publish": true, "events": ["done.*"], "agent-tools": ["*.*"],
        "client": {"form": true}, "http": [url],
    });
    let manifest = json!({"name": "everything", "version": "0.1.0", "requests": requests});
    let component = with_manifest(std::fs::read(paths::guest("everything")).unwrap(), &manifest);
    let file = home.write("everything.wasm", component);
    let grants = format!(
        "grants = {{ scratch = {{ guest = \"/own\" }}, state = {{}}, publish = true, events = [\"done.*\"], \
         agent-tools = [\"echo.run\"], http = [{{ allow = \"{url}\", private = true }}] }}"
    );
    plugin_from("everything", &file, &grants) + &agent("echo", "echo", "")
}

#[test]
fn every_import_with_an_effect_has_a_span() {
    let collector = Web::serve(|_| Reply::json(json!({})));
    let web = Web::serve(|_| Reply::json(json!({"some": "answer"})));
    let home = Home::new();
    let config = format!("[telemetry]\notlp = \"{}\"\n", collector.url("")) + &everything(&home, &web);
    let mut client = Client::of_server(Server::start_in(home, &config));
    let said = client.run("everything", json!({"path": web.address.to_string()})).good().to_owned();
    assert_eq!(said, "13 worked; not: ask", "the question is not granted");
    assert!(client.server.end().success());
    let spans: Vec<Value> = collector.seen().iter().flat_map(spans).collect();
    let root = spans.iter().find(|span| span["parentSpanId"].is_null()).expect("a span that stands alone");
    let said = |span: &Value, key: &str| {
        let attributes = span["attributes"].as_array().unwrap();
        let found = attributes.iter().find(|attribute| attribute["key"] == key)?;
        let value = &found["value"];
        value["stringValue"].as_str().or(value["intValue"].as_str()).map(str::to_owned)
    };
    let below: Vec<_> = spans.iter().filter(|span| span["parentSpanId"] == root["spanId"]).collect();
    let mut names: Vec<_> = below.iter().map(|span| span["name"].as_str().unwrap()).collect();
    names.dedup();
    let expected = [
        "state.set",
        "state.get",
        "state.keys",
        "events.emit",
        "publish.put-resource",
        "publish.append-resource",
        "client.ask",
        "tools/call echo.run",
        "filesystem.open-at",
        "filesystem.create-directory-at",
        "filesystem.open-at",
        "filesystem.unlink-file-at",
        "wasi:http.handle",
        "publish.remove-resource",
        "state.remove",
    ];
    assert_eq!(names, expected, "{spans:#?}");
    for span in &below {
        let outcome = said(span, "portcullis.outcome");
        let expected = if span["name"] == "client.ask" { "denied" } else { "ok" };
        assert_eq!(outcome.as_deref(), Some(expected), "{span}");
        assert_eq!(said(span, "error.type").as_deref(), (expected == "denied").then_some("denied"), "{span}");
    }
    let handle = below.iter().find(|span| span["name"] == "wasi:http.handle").unwrap();
    let hop = spans.iter().find(|span| span["parentSpanId"] == handle["spanId"]).expect("a span of the exchange");
    assert_eq!((hop["name"].as_str(), hop["kind"].as_u64()), (Some("GET"), Some(3)));
    let of_hop = ["server.address", "http.response.status_code", "portcullis.response.size"].map(|key| said(hop, key));
    assert_eq!(of_hop, ["127.0.0.1", "200", "17"].map(|value| Some(value.to_owned())));
    assert_eq!(said(root, "portcullis.chunks").as_deref(), Some("1"), "chunks are counted, not drawn");
    let everything = format!("{spans:?}");
    for private in ["/private", "of=mine", "report", "text", "Who?", "some"] {
        assert!(!everything.contains(private), "{private} is in a span");
    }
}

#[test]
fn a_plugin_cannot_flood_the_collector() {
    let collector = Web::serve(|_| Reply::json(json!({})));
    let config = format!("[telemetry]\notlp = \"{}\"\n", collector.url("")) + &plugin("keeper", "grants.state = {}");
    let mut client = Client::of(&config);
    client.run("keeper", json!({"path": "many k", "n": 300})).good();
    assert!(client.server.end().success());
    let spans: Vec<Value> = collector.seen().iter().flat_map(spans).collect();
    assert_eq!(spans.len(), 257, "the call's own, and 256 below it");
    let root = spans.iter().find(|span| span["name"] == "execute_tool run").unwrap();
    let dropped = json!({"key": "portcullis.spans_dropped", "value": {"intValue": "44"}});
    assert!(root["attributes"].as_array().unwrap().contains(&dropped), "{root}");
}

#[test]
fn spans_are_counted_for_the_whole_tree() {
    let collector = Web::serve(|_| Reply::json(json!({})));
    let config = format!("[telemetry]\notlp = \"{}\"\n", collector.url(""))
        + &plugin("agent-calls", r#"grants.agent-tools = ["keeper.run"]"#)
        + &agent("keeper", "keeper", "grants.state = {}");
    let mut client = Client::of(&config);
    let call = json!({"call": {"name": "keeper.run", "arguments": {"path": "many k", "n": 300}}});
    client.run("agent-calls", json!({"path": Value::from(vec![call; 3]).to_string()})).good();
    assert!(client.server.end().success());
    let spans: Vec<Value> = collector.seen().iter().flat_map(spans).collect();
    println!("hostile: nested spans: {} of three nested calls that make 300 each", spans.len());
    assert_eq!(spans.len(), 260, "the four calls' own, and 256 below them");
}

fn spans(seen: &suite::web::Seen) -> Vec<Value> {
    let body: Value = serde_json::from_str(&seen.body).unwrap();
    body["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap().clone()
}

#[test]
fn an_unreachable_collector_delays_no_call() {
    let head = "[telemetry]\notlp = \"http://127.0.0.1:9\"\n[server]\nmetrics = \"127.0.0.1:0\"\n";
    let mut client = Client::of(&config(head));
    let address = metrics_of(&client.server);
    client.run("relay", json!({"path": "echo.run"})).good();
    client.server.wait_for_log("spans are lost");
    let text = request_at(address, "GET", "/metrics", &[("Host", "localhost")], "").text();
    assert!(text.contains("portcullis_trace_lost_spans_total 3\n"), "{text}");
}

#[test]
fn log_lines_are_json_when_configured() {
    let mut client = Client::of(&config("[telemetry]\nlog = \"json\"\n"));
    assert!(client.run("ungranted-agent-tool", json!({})).is_error());
    client.server.wait_for_log("notes.add");
    assert!(client.server.end().success());
    for line in client.server.log().lines() {
        let line: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("not JSON: {line}"));
        assert!(line["time"].is_string() && line["level"].is_string() && line["message"].is_string(), "{line}");
    }
}
