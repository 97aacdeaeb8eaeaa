//! Three services that are asked at the same time take as long as one, over stdio and HTTP.

use serde_json::{Value, json};
use std::time::{Duration, Instant};
use suite::{Client, Era, Server, http, paths, plugin_from};

/// Plugins that wait for their service, here for twelve times 50 ms.
const SERVICES: [&str; 3] = ["salesforce", "slack", "github"];
const ONE: Duration = Duration::from_millis(600);
/// Less than two after each other.
const MOST: Duration = Duration::from_millis(1_150);

fn config() -> String {
    SERVICES.map(|name| plugin_from(name, &paths::guest("slow-stream"), "")).concat()
}

fn call(service: &str) -> Value {
    json!({"name": format!("{service}__run"), "arguments": {"n": 12}})
}

/// A machine that is busy may be late a few times.
fn in_time(mut attempt: impl FnMut() -> Duration) {
    let mut late = Vec::new();
    while late.len() < 5 {
        let taken = attempt();
        if (ONE..MOST).contains(&taken) {
            return;
        }
        late.push(taken);
    }
    panic!("three services, each {ONE:?}: {late:?}");
}

#[test]
fn three_services_on_one_connection_take_as_long_as_one() {
    let mut client = Client::able(Server::start(&config()), Era::Modern, false, json!({}));
    for service in SERVICES {
        client.request("tools/call", call(service)).result();
    }
    in_time(|| {
        let began = Instant::now();
        let sent = SERVICES.map(|service| client.begin("tools/call", call(service)));
        for id in sent {
            assert_eq!(client.wait(id, began).result()["content"][0]["text"], "12 parts");
        }
        began.elapsed()
    });
}

#[test]
fn three_services_over_http_take_as_long_as_one() {
    let (_server, address) = Server::start_http(&config());
    let ask = |service: &str| {
        let mut params = call(service);
        params["_meta"] = suite::client::modern_meta(false);
        let name = format!("{service}__run");
        let headers = [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", &*name)];
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
        let answer = http::request(address, "POST", &headers, &body).answer(1, Instant::now());
        assert_eq!(answer.result()["content"][0]["text"], "12 parts");
    };
    SERVICES.into_iter().for_each(ask);
    in_time(|| {
        let began = Instant::now();
        std::thread::scope(|scope| {
            for service in SERVICES {
                scope.spawn(move || ask(service));
            }
        });
        began.elapsed()
    });
}
