//! Circuit breaker, rate limits and queues: a failing or busy plugin is suspended or refused without affecting others.

use serde_json::json;
use std::time::{Duration, Instant};
use suite::{Called, Client, agent, plugin};

#[test]
fn a_failing_tool_is_suspended_and_retried() {
    let breaker = "limits.breaker = { failures = 5, within = \"60s\", open = \"2s\", at-most = \"10s\" }";
    let mut client = Client::of(&(plugin("unreachable", breaker) + &plugin("echo", "")));
    for _ in 0..5 {
        assert_eq!(client.run("unreachable", json!({})).code(), "trap");
        assert!(!client.run("echo", json!({})).is_error());
    }
    let opened = Instant::now();
    let refused = client.run("unreachable", json!({}));
    assert_eq!(refused.code(), "plugin-failing", "{}", refused.result());
    assert_eq!((refused.number("failures"), refused.error()["cause"].as_str()), (5, Some("trap")));
    assert!((1..=2_000).contains(&refused.number("retryAfterMs")));
    assert!(refused.text().contains("limits.breaker"), "{}", refused.text());
    client.server.wait_for_log("keeps failing: not called for 2s");
    // The other plugin is served throughout; the failing one is tried once per period: after 2 s, then after 4 s more.
    let (mut tried, mut refused) = (0, 0);
    while opened.elapsed() < Duration::from_millis(4_500) {
        match client.run("unreachable", json!({})).code() {
            "trap" => tried += 1,
            "plugin-failing" => refused += 1,
            other => panic!("{other}"),
        }
        assert!(!client.run("echo", json!({})).is_error());
    }
    assert_eq!(tried, 1, "beside {refused} that were refused");
    client.server.wait_for_log("keeps failing: not called for 4s");
}

#[test]
fn caller_errors_do_not_open_the_breaker() {
    let mut client = Client::of(&plugin("echo", "limits.breaker.failures = 1"));
    for _ in 0..5 {
        assert_eq!(client.run("echo", json!({"n": "many"})).code(), "invalid-arguments");
    }
    assert!(!client.run("echo", json!({})).is_error());
    let mut off = Client::of(&plugin("unreachable", "limits.breaker.failures = 0"));
    assert!((0..12).all(|_| off.run("unreachable", json!({})).code() == "trap"));
}

#[test]
fn a_failing_agent_side_tool_is_suspended() {
    let config = plugin("relay", "grants.agent-tools = [\"unreachable.*\"]")
        + &agent("unreachable", "unreachable", "limits.breaker = { failures = 2, open = \"60s\" }");
    let mut client = Client::of(&config);
    let mut said = Vec::new();
    for _ in 0..4 {
        said.push(client.run("relay", json!({"path": "unreachable.run"})).text());
    }
    assert!(!said[1].contains("not called") && said[3].contains("not called: the tool failed 2 times"), "{said:?}");
}

#[test]
fn calls_above_the_rate_or_the_queue_limit_are_refused() {
    let mut client = Client::of(&plugin("echo", "limits.rate = \"3/h\""));
    assert!((0..3).all(|_| !client.run("echo", json!({})).is_error()));
    let refused = client.run("echo", json!({}));
    assert_eq!(refused.code(), "rate-limited", "{}", refused.result());
    assert_eq!(refused.error()["rate"], "3/h");
    assert!(refused.number("retryAfterMs") > 1_000_000);

    let server = "[server]\nper-principal = { rate = \"2/h\" }\n".to_owned();
    let mut client = Client::of(&(server + &plugin("echo", "")));
    assert!((0..2).all(|_| !client.run("echo", json!({})).is_error()));
    assert_eq!(client.run("echo", json!({})).code(), "rate-limited");

    let narrow = "limits.concurrent = 1\nlimits.queue = 1\nlimits.fuel = 1_000_000_000_000";
    let mut client = Client::of(&(plugin("spin", narrow) + &plugin("echo", "")));
    // One call runs, one waits, and the last to arrive is refused.
    let begun: Vec<(u64, Instant)> =
        (0..3).map(|_| (client.begin_call("spin__run", json!({})), Instant::now())).collect();
    let answered = || begun.iter().copied().find(|(id, _)| client.is_answered(*id));
    let (id, sent) = suite::eventually(Duration::from_secs(20), answered).expect("one is refused");
    let refused = Called(client.wait(id, sent));
    assert_eq!((refused.code(), refused.number("limit")), ("busy", 1), "{}", refused.result());
    assert!(refused.text().contains("limits.queue"), "{}", refused.text());
    client.check_alive();
    begun.iter().filter(|(other, _)| *other != id).for_each(|(other, _)| client.cancel(*other));
}
