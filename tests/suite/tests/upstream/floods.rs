//! Servers behind the host that have too much to say.

use super::{Remote, misbehaving, until_found};
use serde_json::json;
use std::time::Instant;
use suite::{Client, Era, Home, PATIENCE, Server, eventually, plugin};

/// What one server may make the host hold, in bytes: its account, and what is on its way.
const MOST_HELD: u64 = 64 << 20;

/// What a server sends, as its script names it.
const FLOODS: [&str; 16] = [
    "ping",
    "roots",
    "sampling",
    "form",
    "unknown request",
    "message",
    "progress",
    "cancelled",
    "tools changed",
    "resources changed",
    "resource updated",
    "task",
    "unknown notification",
    "answer",
    "error",
    "nothing",
];

/// A host that is a client of the server, and has a plugin of its own.
fn measured(upstream: &str) -> Client {
    let config = plugin("echo", "") + upstream;
    let mut client = until_found(Client::of_server(Server::measurable(Home::new(), &config, &[], |_| {})));
    client.run("echo", json!({})).good();
    client.server.forget_peak();
    client
}

#[test]
fn a_server_that_asks_and_reads_no_answer_is_disconnected() {
    let remote = Remote::start("pings");
    for upstream in [misbehaving("pings", ""), remote.config("/mcp")] {
        let mut client = measured(&upstream);
        let before = client.server.memory();
        let began = Instant::now();
        let called = client.call("odd__run", json!({}));
        assert!(called.is_error(), "{}", called.result());
        client.server.wait_for_log("of its requests wait for it to read their answers");
        client.run("echo", json!({})).good();
        let held = client.server.peak_memory().saturating_sub(before);
        println!("hostile: pings: {} MiB held after {:?}", held >> 20, began.elapsed());
        assert!(held < MOST_HELD, "{held} bytes");
    }
}

#[test]
fn many_small_values_are_weighed_before_they_are_read() {
    let over_http = Remote::start("odd-answers");
    for upstream in [misbehaving("odd-answers", ""), over_http.config("/mcp")] {
        for events in [json!(null), json!(1)] {
            let mut client = measured(&upstream);
            let before = client.server.memory();
            let refused = client.call("odd__run", json!({"path": "objects", "n": events}));
            assert!(refused.text().contains("bytes of memory, and at most"), "{}", refused.result());
            let held = client.server.peak_memory().saturating_sub(before);
            println!("hostile: small values: {} MiB held for an answer of 14 MiB", held >> 20);
            assert!(held < MOST_HELD, "{held} bytes");
        }
    }
    let mut client = measured(&misbehaving("notifications", ""));
    let before = client.server.memory();
    client.call("odd__run", json!({"n": 4})).good();
    let held = client.server.peak_memory().saturating_sub(before);
    println!("hostile: small values: {} MiB held for four notifications of 14 MiB", held >> 20);
    assert!(held < MOST_HELD, "{held} bytes");
}

/// Every message that a server can send without being asked, as fast as it can write, beside somebody who calls a plugin.
#[test]
fn nothing_that_a_server_repeats_for_ever_takes_much_or_stops_others() {
    let (remote, mut most) = (Remote::start("floods"), 0);
    for upstream in [misbehaving("floods", ""), remote.config("/mcp")] {
        for kind in FLOODS {
            let mut client = measured(&upstream);
            let before = client.server.memory();
            let mark = client.server.home.path().join("flooded");
            client.begin_call("odd__run", json!({"path": kind, "mark": mark.display().to_string()}));
            eventually(PATIENCE, || mark.exists().then_some(())).expect("it floods");
            let slowest = (0..150).map(|_| {
                let began = Instant::now();
                client.run("echo", json!({})).good();
                began.elapsed()
            });
            let slowest = slowest.max().unwrap_or_default();
            let held = client.server.peak_memory().saturating_sub(before);
            println!("hostile: flood of `{kind}`: {} MiB held, a neighbour's slowest call {slowest:?}", held >> 20);
            assert!(held < MOST_HELD, "{kind}: {held} bytes");
            most = most.max(held >> 20);
        }
    }
    println!("hostile: server floods: {most} MiB held at most, with {} messages", FLOODS.len());
}

/// Tools without end, of which most are left out, and the others have schemas that are refused after milliseconds each.
#[test]
fn tools_that_are_left_out_are_counted() {
    let mut alone = Client::of_server(Server::start(&plugin("echo", "")));
    let times = |client: &mut Client, is_over: &dyn Fn(&Client, usize) -> bool| {
        let mut times = Vec::new();
        while !is_over(client, times.len()) {
            let began = Instant::now();
            client.run("echo", json!({})).good();
            times.push(began.elapsed());
        }
        times.sort();
        times
    };
    let alone = times(&mut alone, &|_, calls| calls == 200);
    let servers =
        misbehaving("slow-schemas", "") + &misbehaving("slow-schemas", "").replace("upstream.odd", "upstream.two");
    // It serves while it reads their lists.
    let mut client = Client::of_server(Server::spawn(Home::new(), &(plugin("echo", "") + &servers), &[], |_| {}));
    client.run("echo", json!({})).good();
    let used =
        |client: &Client| client.server.log().matches("the server has too many tools; only 256 are used").count();
    let begun = Instant::now();
    let beside = times(&mut client, &|client, _| {
        assert!(begun.elapsed() < PATIENCE, "timed out: two lists are still read\n{}", client.server.log());
        used(client) == 2
    });
    let p99 = |times: &[std::time::Duration]| times[times.len() * 99 / 100];
    println!(
        "hostile: schemas: a neighbour's p99 is {:?} beside two servers with costly schemas, {:?} alone; {} calls meanwhile",
        p99(&beside),
        p99(&alone),
        beside.len()
    );
    assert!(beside.len() > 1, "others wait until all schemas are compiled");
    let lines = client.server.log().matches("checked by the server alone").count();
    assert!(lines <= 16, "{lines} lines");
    client.run("echo", json!({})).good();
}

/// Pages without end, of which nothing is a tool.
#[test]
fn pages_of_a_list_are_bounded_together() {
    let over_http = Remote::start("huge-pages");
    for upstream in [misbehaving("huge-pages", ""), over_http.config("/mcp")] {
        let config = plugin("echo", "") + &upstream;
        let mut client = Client::of_server(Server::measurable(Home::new(), &config, &[], |_| {}));
        let before = client.server.memory();
        client.server.wait_for_log("the list of tools is larger than 16777216 bytes; only 0 tools are used");
        let held = client.server.peak_memory().saturating_sub(before);
        println!("hostile: pages: {} MiB held for pages of 4 MiB", held >> 20);
        assert!(held < MOST_HELD, "{held} bytes");
        let lines = client.server.log().matches("left out").count();
        assert!(lines <= 16, "{lines} lines");
        client.run("echo", json!({})).good();
    }
}

#[test]
fn log_messages_of_a_server_have_a_rate() {
    let mut client = until_found(Client::new(Server::start(&misbehaving("chatter", "")), Era::Modern, false));
    let meta = json!({"io.modelcontextprotocol/logLevel": "info"});
    let called = client.request("tools/call", json!({"name": "odd__run", "arguments": {}, "_meta": meta}));
    assert_eq!(called.result()["content"][0]["text"], "said");
    let passed = called.notified("notifications/message").len() as u64;
    println!("hostile: messages: {passed} of 3000 passed on");
    let most = 500 * (2 + called.elapsed().as_secs() / 10);
    assert!((1..=most).contains(&passed), "{passed} in {:?}", called.elapsed());
}

#[test]
fn refused_questions_do_not_fill_the_log() {
    let able = json!({"elicitation": {}});
    let mut client = Client::able(Server::start(&misbehaving("secret", "")), Era::Modern, false, able);
    client.call("odd__run", json!({"n": 100})).good();
    let lines = client.server.log().matches("a question is refused").count();
    println!("hostile: questions: {lines} lines of log for 801 that are refused");
    assert!((1..=256).contains(&lines), "{lines} lines");
}

/// A server that says at each look that its tools have changed, and lists others with other faults each time.
#[test]
fn a_server_whose_tools_always_change_costs_little() {
    let mut client = until_found(Client::of(&misbehaving("always-new-list", "")));
    let listed = |client: &mut Client| {
        let tools = client.tools();
        tools[0]["description"].as_str().and_then(|number| number.parse::<u64>().ok()).expect("the number of the list")
    };
    let (began, first) = (Instant::now(), listed(&mut client));
    eventually(PATIENCE, || (listed(&mut client) >= first + 3).then_some(())).expect("changes are followed");
    let lists = listed(&mut client) - first;
    let most = began.elapsed().as_secs() + 2;
    let lines = client.server.log().matches("wrong name").count() as u64;
    println!("hostile: lists: {lines} lines of log for {lists} lists in {:?}", began.elapsed());
    assert!(lists <= most, "{lists} lists in {:?}", began.elapsed());
    assert!(lines <= 16 * (first + lists + 1), "{lines} lines for {} lists", first + lists);
}
