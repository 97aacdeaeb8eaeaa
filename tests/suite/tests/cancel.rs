//! Cancellation: the guest is stopped at once, and the server keeps running.

use serde_json::json;
use std::time::Duration;
use suite::{Client, Era, Server, Watch, agent, plugin};

const ENDLESS: &str = "limits.fuel = 1_000_000_000_000_000\nlimits.deadline = \"1h\"";
const ENDLESS_TICKS: &str = "limits.metering = \"ticks\"\nlimits.cpu = \"1h\"\nlimits.deadline = \"1h\"";
/// The CPU time that a guest may still use after it was cancelled.
const LATE: Duration = Duration::from_millis(60);

#[test]
fn cancelling_stops_a_spinning_guest() {
    for era in Era::ALL {
        for settings in [ENDLESS, ENDLESS_TICKS] {
            let server = Server::start(&(plugin("spin", settings) + &plugin("echo", "")));
            let mut client = Client::new(server, era, false);
            client.check_alive();
            let id = client.begin_call("spin__run", json!({}));
            Watch::until_busy(&client.server);
            let watch = Watch::start(&client.server);
            client.cancel(id);
            let late = watch.until_idle(&client.server);
            assert!(late < LATE, "{era:?}: the guest went on for {late:?}");
            client.check_alive();
            assert_eq!(client.tools().len(), 2);
        }
    }
}

#[test]
fn cancelling_stops_a_waiting_guest() {
    let mut client = Client::of(&(plugin("wait-forever", ENDLESS) + &plugin("echo", "")));
    let id = client.begin_call("wait-forever__run", json!({}));
    client.check_alive();
    client.cancel(id);
    client.check_alive();
    client.server.end();
}

#[test]
fn cancelling_stops_the_whole_chain() {
    let grant = format!("grants.agent-tools = [\"spin.run\"]\n{ENDLESS}");
    let config = plugin("relay", &grant) + &agent("spin", "spin", ENDLESS) + &plugin("echo", "");
    let mut client = Client::of(&config);
    client.check_alive();
    let id = client.begin_call("relay__run", json!({"path": "spin.run"}));
    Watch::until_busy(&client.server);
    let watch = Watch::start(&client.server);
    client.cancel(id);
    let late = watch.until_idle(&client.server);
    assert!(late < LATE, "the nested guest went on for {late:?}");
    client.check_alive();
}

#[test]
fn a_closed_stream_stops_a_spinning_guest() {
    let (server, address) = Server::start_http(&(plugin("spin", ENDLESS) + &plugin("slow-stream", ENDLESS)));
    let params = json!({"name": "spin__run", "arguments": {}});
    // The response head may only arrive with the first message, so the request is sent without reading a response.
    let sending = std::thread::spawn(move || send_and_hold_until_unparked(address, &params));
    Watch::until_busy(&server);
    let watch = Watch::start(&server);
    sending.thread().unpark();
    sending.join().unwrap();
    let late = watch.until_idle(&server);
    assert!(late < LATE, "the guest went on for {late:?}");
    let called = suite::http::call(address, "slow-stream__run", json!({"n": 1}), false);
    assert_eq!(called.good(), "1 parts");
}

fn send_and_hold_until_unparked(address: std::net::SocketAddr, params: &serde_json::Value) {
    use std::io::Write;
    let mut params = params.clone();
    params["_meta"] = suite::client::modern_meta(false);
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nAccept: application/json, text/event-stream\r\n\
         Content-Type: application/json\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\n\
         Mcp-Name: spin__run\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes()).unwrap();
    std::thread::park_timeout(suite::PATIENCE);
}

#[test]
fn cancelling_a_finished_or_unknown_call_does_nothing() {
    let mut client = Client::of(&plugin("echo", ""));
    let id = client.begin_call("echo__run", json!({}));
    client.wait(id, std::time::Instant::now());
    client.cancel(id);
    client.cancel(999_999);
    client.check_alive();
}

#[test]
fn many_calls_cancelled_at_once_leave_nothing() {
    let mut client = Client::of(&(plugin("spin", ENDLESS) + &plugin("echo", "")));
    client.check_alive();
    let round = |client: &mut Client| {
        let ids: Vec<_> = (0..32).map(|_| client.begin_call("spin__run", json!({}))).collect();
        Watch::until_busy(&client.server);
        for id in ids {
            client.cancel(id);
        }
        Watch::start(&client.server).until_idle(&client.server);
        client.check_alive();
        client.server.memory()
    };
    let baseline = round(&mut client);
    round(&mut client);
    let after = round(&mut client);
    assert!(after <= baseline + (8 << 20), "memory grew from {} to {} MiB", baseline >> 20, after >> 20);
}
