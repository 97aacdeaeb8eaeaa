//! Headers must match the body, so that proxies can base decisions on the headers alone.

use serde_json::{Value, json};
use std::net::SocketAddr;
use suite::client::modern_meta;
use suite::http::request;
use suite::{Server, plugin};

const VERSION: (&str, &str) = ("MCP-Protocol-Version", "2026-07-28");
const METHOD: (&str, &str) = ("Mcp-Method", "tools/call");
const NAME: (&str, &str) = ("Mcp-Name", "header-param__run");

fn post(address: SocketAddr, headers: &[(&str, &str)], arguments: &Value) -> (u16, Value) {
    let params = json!({"name": "header-param__run", "arguments": arguments, "_meta": modern_meta(false)});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
    let mut response = request(address, "POST", headers, &body);
    (response.status, response.message().unwrap_or_default()["error"]["code"].clone())
}

const GOOD: (u16, Value) = (200, Value::Null);

fn mismatch() -> (u16, Value) {
    (400, json!(-32020))
}

#[test]
fn method_name_and_version_headers_appear_once_and_match_the_body() {
    let (_server, address) = Server::start_http(&plugin("header-param", ""));
    let none = json!({});
    assert_eq!(post(address, &[VERSION, METHOD, NAME], &none), GOOD);
    let encoded = ("Mcp-Name", "=?base64?aGVhZGVyLXBhcmFtX19ydW4=?=");
    assert_eq!(post(address, &[VERSION, METHOD, encoded], &none), GOOD);
    assert_eq!(
        post(address, &[VERSION, ("mcp-METHOD", "tools/call"), ("MCP-NAME", " header-param__run ")], &none),
        GOOD
    );
    for wrong in [
        &[METHOD, NAME][..],
        &[VERSION, NAME],
        &[VERSION, METHOD],
        &[("MCP-Protocol-Version", "2025-11-25"), METHOD, NAME],
        &[VERSION, ("Mcp-Method", "tools/list"), NAME],
        &[VERSION, ("Mcp-Method", "Tools/Call"), NAME],
        &[VERSION, METHOD, ("Mcp-Name", "header-param__other")],
        &[VERSION, METHOD, ("Mcp-Name", "HEADER-PARAM__RUN")],
        &[VERSION, METHOD, ("Mcp-Name", "=?base64?aGVhZGVyLXBhcmFtX19ydW4?=")],
        &[VERSION, METHOD, ("Mcp-Name", "=?base64?!!!?=")],
        &[VERSION, METHOD, ("Mcp-Name", "")],
        &[VERSION, METHOD, METHOD, NAME],
        &[VERSION, METHOD, NAME, NAME],
        &[VERSION, METHOD, NAME, ("Mcp-Name", "header-param__other")],
        &[VERSION, VERSION, METHOD, NAME],
        &[VERSION, ("MCP-Protocol-Version", "2025-11-25"), METHOD, NAME],
    ] {
        assert_eq!(post(address, wrong, &none), mismatch(), "{wrong:?}");
    }
}

#[test]
fn parameter_headers_must_match_the_arguments() {
    let (_server, address) = Server::start_http(&plugin("header-param", ""));
    let ask = |headers: &[(&str, &str)], arguments: Value| {
        let headers: Vec<_> = [VERSION, METHOD, NAME].iter().chain(headers).copied().collect();
        post(address, &headers, &arguments)
    };
    for (headers, arguments) in [
        (&[("Mcp-Param-Region", "eu")][..], json!({"region": "eu"})),
        (&[("mcp-param-REGION", "  eu  ")], json!({"region": "eu"})),
        (&[("Mcp-Param-Region", "=?base64?ZXU=?=")], json!({"region": "eu"})),
        (&[("Mcp-Param-Region", "=?base64?w6TDtsO8?=")], json!({"region": "äöü"})),
        (&[("Mcp-Param-Region", "=?base64?ZXU=")], json!({"region": "=?base64?ZXU="})),
        (&[("Mcp-Param-Level", "3"), ("Mcp-Param-Dry", "true")], json!({"level": 3, "dry": true, "other": "x"})),
        (&[], json!({"other": "x"})),
    ] {
        assert_eq!(ask(headers, arguments.clone()), GOOD, "{headers:?} {arguments}");
    }
    for (headers, arguments) in [
        (&[][..], json!({"region": "eu"})),
        (&[("Mcp-Param-Region", "us")], json!({"region": "eu"})),
        (&[("Mcp-Param-Region", "EU")], json!({"region": "eu"})),
        (&[("Mcp-Param-Region", "eu")], json!({})),
        (&[("Mcp-Param-Region", "eu"), ("Mcp-Param-Region", "us")], json!({"region": "eu"})),
        (&[("Mcp-Param-Region", "=?base64?ZXU?=")], json!({"region": "eu"})),
        (&[("Mcp-Param-Region", "=?base64?Z*U=?=")], json!({"region": "eu"})),
        (&[("Mcp-Param-Region", "=?base64?/w==?=")], json!({"region": "eu"})),
        (&[("Mcp-Param-Level", "4")], json!({"level": 3})),
        (&[("Mcp-Param-Dry", "false")], json!({"dry": true})),
    ] {
        assert_eq!(ask(headers, arguments.clone()), mismatch(), "{headers:?} {arguments}");
    }
}
