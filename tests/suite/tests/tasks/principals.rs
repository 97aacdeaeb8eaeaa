//! Tasks belong to whoever began them.

use super::{TASKS, abilities, config};
use serde_json::{Value, json};
use std::time::Instant;
use suite::http::{Response, request};
use suite::{Home, PATIENCE, Server, eventually};

#[test]
fn somebody_elses_task_answers_as_what_never_existed() {
    let home = Home::new();
    let [alice, bob] = home.keys(["alice", "bob"]);
    let config = config("auth.keys = \"keys.toml\"\nfallback-tools = true");
    let (_server, address) = Server::start_http_in(home, &config);
    let send = |key: &str, method: &str, mut params: Value| -> Response {
        params["_meta"] = suite::client::modern_meta(false);
        params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = abilities();
        let name =
            ["taskId", "name", "uri"].into_iter().find_map(|key| params[key].as_str()).unwrap_or_default().to_owned();
        let bearer = format!("Bearer {key}");
        let mut headers =
            vec![("Authorization", &*bearer), ("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", method)];
        headers.extend((!name.is_empty()).then_some(("Mcp-Name", &*name)));
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        request(address, "POST", &headers, &body.to_string())
    };
    let answer = |key: &str, method: &str, params: Value| send(key, method, params).answer(1, Instant::now()).message;
    let created = answer(&alice, "tools/call", json!({"name": "job__only", "arguments": {"path": "ask"}}));
    let hers = created["result"]["taskId"].as_str().unwrap().to_owned();
    let of = |method: &str, id: &str| match method {
        "resources/read" => json!({"uri": format!("portcullis://tasks/{id}")}),
        "tasks/update" => json!({"taskId": id, "inputResponses": {"first": {"action": "decline"}}}),
        tool if tool.starts_with("task_") => json!({"name": tool, "arguments": {"task": id}}),
        _ => json!({"taskId": id}),
    };
    for method in
        ["tasks/get", "tasks/update", "tasks/cancel", "resources/read", "task_status", "task_result", "task_cancel"]
    {
        let sent = if method.starts_with("task_") { "tools/call" } else { method };
        let (foreign, unknown) = (answer(&bob, sent, of(method, &hers)), answer(&bob, sent, of(method, "nobody")));
        let same = foreign.to_string().replace(&hers, "nobody");
        assert_eq!(same, unknown.to_string(), "{method}");
        assert!(unknown["error"]["code"] == -32602 || unknown["result"]["isError"] == true, "{method}: {unknown}");
    }
    let mut listening = send(&bob, "subscriptions/listen", json!({"notifications": {"taskIds": [hers]}}));
    assert_eq!(listening.message().unwrap()["params"]["notifications"], json!({"taskIds": []}));
    let asked = eventually(PATIENCE, || {
        let got = answer(&alice, "tasks/get", of("tasks/get", &hers));
        (got["result"]["status"] == "input_required").then_some(got)
    });
    assert_eq!(
        asked.unwrap()["result"]["inputRequests"].as_object().unwrap().len(),
        2,
        "nobody has answered or cancelled it"
    );
    // A declaration without the extension is refused on each request.
    let mut plain = of("tasks/get", &hers);
    plain["_meta"] = suite::client::modern_meta(false);
    assert!(!plain.to_string().contains(TASKS));
}
