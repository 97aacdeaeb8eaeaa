//! Guests that exceed their limits: each is stopped with an error that names the limit, and other guests are
//! unaffected.

use serde_json::{Value, json};
use suite::{Called, Client, Era, Home, Server, plugin, plugin_from};

/// The expected outcome of a call: the error code and the numbers in it that are known in advance.
struct Case {
    guest: &'static str,
    settings: &'static str,
    arguments: Value,
    code: &'static str,
    numbers: &'static [(&'static str, u64)],
}

fn case(
    guest: &'static str,
    settings: &'static str,
    arguments: Value,
    code: &'static str,
    numbers: &'static [(&'static str, u64)],
) -> Case {
    Case { guest, settings, arguments, code, numbers }
}

const MIB: u64 = 1 << 20;

fn cases() -> Vec<Case> {
    let none = || json!({});
    vec![
        case("spin", "limits.fuel = 50_000_000", none(), "fuel-exhausted", &[("limit", 50_000_000)]),
        case("clock-flood", "limits.fuel = 5_000_000", none(), "fuel-exhausted", &[("limit", 5_000_000)]),
        case("recursion", "", none(), "stack-overflow", &[]),
        case("eat-memory", "", none(), "memory-exceeded", &[("limit", 64 * MIB)]),
        case("eat-memory-slowly", "limits.memory = \"32 MiB\"", none(), "memory-exceeded", &[("limit", 32 * MIB)]),
        case("handles", "", none(), "handles-exceeded", &[("limit", 256)]),
        case("giant-result", "limits.memory = \"200 MiB\"", none(), "hostcall-exceeded", &[("limit", 8 * MIB)]),
        case(
            "result-over-output",
            "limits.hostcall = \"16 MiB\"",
            none(),
            "output-exceeded",
            &[("limit", 8 * MIB), ("used", 9 * MIB)],
        ),
        case("giant-string", "limits.memory = \"128 MiB\"", none(), "hostcall-exceeded", &[("limit", 8 * MIB)]),
        case("wait-forever", "limits.deadline = \"300ms\"", none(), "deadline-exceeded", &[("limitMs", 300)]),
        case(
            "spin-realloc",
            "limits.fuel = 50_000_000",
            json!({"path": "x".repeat(5000)}),
            "fuel-exhausted",
            &[("limit", 50_000_000)],
        ),
        case("spin-after", "limits.fuel = 50_000_000", none(), "fuel-exhausted", &[("limit", 50_000_000)]),
    ]
}

fn check(case: &Case, called: &Called) {
    assert_eq!(called.code(), case.code, "{}: {}", case.guest, called.result());
    for (key, number) in case.numbers {
        assert_eq!(called.number(key), *number, "{} {key}: {}", case.guest, called.error());
    }
    let usage = called.usage();
    assert!(usage["fuel"].as_u64().is_some_and(|fuel| fuel > 0), "{}: {usage}", case.guest);
}

/// Runs all cases repeatedly on one server: once its pools are warm, no round may leak memory.
#[test]
fn each_guest_is_stopped_at_its_limit_without_affecting_others() {
    let config: String = cases().iter().map(|case| plugin(case.guest, case.settings)).collect();
    // glibc keeps one freed large buffer for each thread that freed one, which varies between runs. With a fixed
    // threshold it returns them at once, so the remaining memory is what the host holds.
    let server = Server::spawn(Home::new(), &(config + &plugin("echo", "")), &[], |command| {
        command.env("MALLOC_MMAP_THRESHOLD_", "131072");
    });
    let mut client = Client::new(server, Era::Modern, false);
    let round = |client: &mut Client| {
        for case in cases() {
            let called = client.run(case.guest, case.arguments.clone());
            check(&case, &called);
            client.check_alive();
        }
        client.server.memory()
    };
    round(&mut client);
    let baseline = round(&mut client);
    for _ in 0..3 {
        round(&mut client);
    }
    let settled = suite::eventually(std::time::Duration::from_secs(10), || {
        let memory = client.server.memory();
        (memory <= baseline + 8 * MIB).then_some(memory)
    });
    let now = client.server.memory();
    assert!(settled.is_some(), "memory grew from {} to {} MiB", baseline / MIB, now / MIB);
    assert!(client.server.is_alive());
}

#[test]
fn errors_and_usage_report_the_numbers_of_the_call() {
    let spin = plugin("spin", "limits.fuel = 20_000_000");
    let mut client = Client::of(&(spin + &plugin("eat-memory", "limits.memory = \"16 MiB\"")));
    let called = client.run("spin", json!({}));
    assert!((20_000_000..21_000_000).contains(&called.number("used")), "{}", called.error());
    assert!((20_000_000..21_000_000).contains(&called.usage()["fuel"].as_u64().unwrap()), "{}", called.usage());
    assert!(called.text().contains("fuel"), "{}", called.text());
    let called = client.run("eat-memory", json!({}));
    assert!(called.number("requested") > 1024 * MIB, "{}", called.error());
    assert!(called.usage()["peakMemory"].as_u64().unwrap() <= 16 * MIB, "{}", called.usage());
}

#[test]
fn ticks_stop_a_guest_that_computes_too_long() {
    let source = suite::paths::guest("spin");
    let settings = "limits.metering = \"ticks\"\nlimits.cpu = \"200ms\"";
    let mut client = Client::of(&(plugin_from("spin", &source, settings) + &plugin("echo", "")));
    let called = client.run("spin", json!({}));
    assert_eq!(called.code(), "cpu-exhausted");
    assert_eq!(called.number("limitMs"), 200);
    let used = called.number("usedMs");
    assert!((200..400).contains(&used), "{used} ms of CPU time for a limit of 200 ms");
    assert!(called.usage()["fuel"].is_null(), "{}", called.usage());
    client.check_alive();
}

#[test]
fn a_deadline_ends_waiting_under_either_meter() {
    let source = suite::paths::guest("wait-forever");
    let ticks = plugin_from("ticks", &source, "limits.metering = \"ticks\"\nlimits.deadline = \"300ms\"");
    let mut client = Client::of(&(ticks + &plugin_from("fuel", &source, "limits.deadline = \"300ms\"")));
    for name in ["ticks", "fuel"] {
        let called = client.run(name, json!({}));
        assert_eq!(called.code(), "deadline-exceeded", "{name}");
        let wall = called.usage()["wallMs"].as_f64().unwrap();
        assert!((300.0..1000.0).contains(&wall), "{name}: {wall} ms for a deadline of 300 ms");
        assert!(called.usage()["cpuMs"].as_f64().unwrap() < 100.0, "waiting is not computing: {}", called.usage());
    }
}

#[test]
fn memory_is_available_up_to_the_last_page_of_the_limit() {
    for mib in [10, 64, 256] {
        let mut client = Client::of(&plugin("grow-politely", &format!("limits.memory = \"{mib} MiB\"")));
        let called = client.run("grow-politely", json!({}));
        assert_eq!(called.good(), (mib * 16).to_string(), "a page is 64 KiB");
        assert_eq!(called.usage()["peakMemory"], mib * MIB);
    }
}

#[test]
fn handles_are_available_up_to_the_limit() {
    let mut client = Client::of(&plugin("handles", "limits.handles = 3_000"));
    client.run("handles", json!({"n": 2_900})).good();
    let called = client.run("handles", json!({"n": 3_100}));
    assert_eq!((called.code(), called.number("limit")), ("handles-exceeded", 3_000));
}

#[test]
fn large_random_requests_do_not_grow_the_host() {
    // With the usual fuel, it could not even pay for them.
    let mut client = Client::of(&(plugin("random-flood", "limits.fuel = 10_000_000_000") + &plugin("echo", "")));
    // A first call brings the server's memory use to its normal level.
    client.check_alive();
    let before = client.server.memory();
    let called = client.run("random-flood", json!({}));
    assert!(called.is_error(), "{}", called.result());
    assert!(["trap", "hostcall-exceeded", "memory-exceeded"].contains(&called.code()), "{}", called.error());
    let after = client.server.memory();
    assert!(after < before + 64 * MIB, "the host made what the guest could not take: {before} then {after}");
    client.check_alive();
    let few = client.run("random-flood", json!({"n": 1000}));
    assert_eq!(few.good(), "got 1000");
    let more = client.run("random-flood", json!({"n": 101_000}));
    let fuel = |called: &Called| called.usage()["fuel"].as_u64().unwrap();
    assert!(fuel(&more) >= fuel(&few) + 150_000, "two units for each byte: {} and {}", fuel(&few), fuel(&more));
}

#[test]
fn limits_above_the_hosts_maximum_are_refused() {
    let home = suite::Home::new();
    let file = home.write("portcullis.toml", plugin("spin", "limits.memory = \"1 GiB\""));
    let ran = suite::portcullis(&home, &["serve", "--config", &file.display().to_string()]);
    let said = ran.refused();
    assert!(said.contains("limits.memory") && said.contains("256"), "{said}");
}
