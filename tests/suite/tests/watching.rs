//! How an operator watches a host: counters, spans, logs for programs.

use serde_json::{Value, json};
use std::net::SocketAddr;
use suite::http::request_at;
use suite::web::{Reply, Web};
use suite::{Client, Server, agent, plugin};

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
        "portcullis_audit_lost_records_total 0",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
    }
    assert!(!text.contains("nobody"), "what a client makes up is no label");
    assert_eq!(get("/mcp", &address.to_string()).status, 404, "there are no tools here");
    assert_eq!(get("/metrics", "evil.example").status, 403);
}

#[test]
fn a_call_and_what_it_does_are_one_trace() {
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
    let (calls, reverse) = (named("call"), named("reverse call"));
    assert_eq!((calls.len(), reverse.len(), spans.len()), (2, 1, 3), "{spans:?}");
    let root = calls.iter().find(|span| span["parentSpanId"] == above).expect("a call below the client's span");
    assert_eq!(reverse[0]["parentSpanId"], root["spanId"]);
    let nested = calls.iter().find(|span| span["spanId"] != root["spanId"]).unwrap();
    assert_eq!(nested["parentSpanId"], reverse[0]["spanId"]);
    assert!(spans.iter().all(|span| span["traceId"] == trace));
    let attributes = root["attributes"].to_string();
    assert!(attributes.contains("plugins.relay") && attributes.contains("portcullis.outcome"), "{attributes}");
}

fn spans(seen: &suite::web::Seen) -> Vec<Value> {
    let body: Value = serde_json::from_str(&seen.body).unwrap();
    body["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap().clone()
}

#[test]
fn a_collector_that_is_not_there_holds_nothing_up() {
    let head = "[telemetry]\notlp = \"http://127.0.0.1:9\"\n[server]\nmetrics = \"127.0.0.1:0\"\n";
    let mut client = Client::of(&config(head));
    let address = metrics_of(&client.server);
    client.run("relay", json!({"path": "echo.run"})).good();
    client.server.wait_for_log("spans are lost");
    let text = request_at(address, "GET", "/metrics", &[("Host", "localhost")], "").text();
    assert!(text.contains("portcullis_trace_lost_spans_total 3\n"), "{text}");
}

#[test]
fn log_lines_are_json_where_a_program_reads_them() {
    let mut client = Client::of(&config("[telemetry]\nlog = \"json\"\n"));
    assert!(client.run("ungranted-agent-tool", json!({})).is_error());
    client.server.wait_for_log("notes.add");
    assert!(client.server.end().success());
    for line in client.server.log().lines() {
        let line: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("not JSON: {line}"));
        assert!(line["time"].is_string() && line["level"].is_string() && line["message"].is_string(), "{line}");
    }
}
