//! Guests that produce too much output: chunks, log lines, progress, and stdout.

use serde_json::json;
use suite::{Client, Era, Server, plugin};

/// A client that receives chunks and progress.
fn listener(config: &str) -> Client {
    let mut client = Client::new(Server::start(config), Era::Modern, true);
    client.progress = true;
    client
}

#[test]
fn chunks_stop_at_the_count_limit() {
    let mut client = listener(&plugin("chunk-flood", "limits.fuel = 100_000_000_000"));
    let called = client.run("chunk-flood", json!({}));
    let said = called.good();
    assert!(said.starts_with("sent 10000, then ") && said.contains("Chunks") && said.contains("10000"), "{said}");
    assert_eq!(called.usage()["chunks"], 10_000);
    assert_eq!(called.chunks().len(), 10_000);
    for (seq, chunk) in called.chunks().into_iter().enumerate() {
        assert_eq!(chunk["seq"], seq, "numbered without gaps and in order");
    }
}

#[test]
fn chunks_stop_at_the_byte_limit() {
    let mut client = listener(&plugin("chunk-flood", "limits.output = \"100 B\""));
    let called = client.run("chunk-flood", json!({}));
    assert_eq!(called.chunks().len(), 100);
    // The guest's error message is longer than the remaining output limit.
    assert_eq!(called.code(), "output-exceeded", "{}", called.result());
    assert_eq!(called.number("limit"), 100);
}

#[test]
fn an_oversized_or_empty_chunk_is_not_sent() {
    let mut client = listener(&(plugin("chunk-big", "") + &plugin("chunk-empty", "")));
    let called = client.run("chunk-big", json!({}));
    assert!(called.good().contains("Invalid") && called.text().contains("65536"), "{}", called.text());
    assert!(called.chunks().is_empty() && called.usage()["chunks"] == 0);
    let called = client.run("chunk-empty", json!({}));
    assert_eq!(called.good().matches("Invalid").count(), 3, "{}", called.text());
    assert!(called.chunks().is_empty() && called.usage()["chunks"] == 0);
}

#[test]
fn log_lines_above_the_limit_are_counted_and_dropped() {
    let mut client = Client::of(&plugin("log-flood", "limits.fuel = 100_000_000_000\nlimits.log-lines = 50"));
    let called = client.run("log-flood", json!({"n": 100_000}));
    assert_eq!(called.good(), "logged");
    let told = client.server.wait_for_log("dropped");
    assert!(told.contains("99950"), "{told}");
    let lines = client.server.log().lines().filter(|line| line.contains("guest: flood ")).count();
    assert_eq!(lines, 50);
}

#[test]
fn refusals_are_logged_so_often_and_then_counted() {
    let mut longest = 0;
    let mut client = Client::of(&(plugin("refused-flood", "limits.fuel = 200_000_000") + &plugin("echo", "")));
    for (length, most) in [(64 << 10, 6 << 20), (8, 1 << 20)] {
        let before = client.server.log().len();
        let called = client.run("refused-flood", json!({"n": length}));
        assert!(called.is_error() && called.text() != "allowed", "{}", called.result());
        // Until the log says that it stops, or is too long already.
        let stopped = suite::eventually(suite::PATIENCE, || {
            let log = client.server.log();
            let is_over = log[before..].contains("further refusals of this call were counted");
            (is_over || log.len() - before > most).then_some(())
        });
        let written = client.server.log().len() - before;
        assert!(stopped.is_some(), "nothing says that refusals are only counted");
        assert!(written < most, "{written} bytes of log for names of {length} bytes");
        longest = longest.max(written >> 10);
    }
    println!("hostile: log: {longest} KiB for one call that is refused again and again");
    let journal = std::fs::read_dir(client.server.home.path().join("state/audit")).unwrap().flatten();
    let bytes: u64 = journal.map(|file| file.metadata().unwrap().len()).sum();
    assert!(bytes < 2 << 20, "{bytes} bytes of audit");
    client.check_alive();
}

#[test]
fn long_lines_of_a_json_log_are_cut_and_stay_json() {
    let config = plugin("refused-flood", "limits.fuel = 3_000_000") + "[telemetry]\nlog = \"json\"\n";
    let mut client = Client::of(&config);
    assert!(client.run("refused-flood", json!({"n": 64 << 10})).is_error());
    client.server.wait_for_log("denied: agent-tools");
    let log = client.server.log();
    let denials: Vec<&str> = log.lines().filter(|line| line.contains("denied: agent-tools")).collect();
    for line in &denials {
        assert!(line.len() < 20 << 10 && serde_json::from_str::<serde_json::Value>(line).is_ok(), "{line}");
    }
    assert!(denials.iter().any(|line| line.contains("xxx...")), "{log}");
}

#[test]
fn a_log_flood_consumes_guest_fuel_and_no_host_memory() {
    let mut client = Client::of(&(plugin("log-flood", "limits.fuel = 100_000_000") + &plugin("echo", "")));
    client.check_alive();
    client.run("log-flood", json!({"n": 10}));
    let before = client.server.memory();
    let called = client.run("log-flood", json!({}));
    assert_eq!(called.code(), "fuel-exhausted", "{}", called.result());
    assert!(client.server.memory() < before + (32 << 20));
    client.check_alive();
}

#[test]
fn a_guest_cannot_forge_log_records() {
    let mut client = Client::of(&plugin("log-forge", ""));
    assert_eq!(client.run("log-forge", json!({})).good(), "forged");
    client.server.wait_for_log("forged");
    assert!(client.server.end().success());
    let log = client.server.log();
    check_log_records(&log);
    assert!(log.contains("plugins.log-forge"), "records name their plugin:\n{log}");
}

/// Checks that every log line is a record of the host and contains no control characters.
fn check_log_records(log: &str) {
    for line in log.lines() {
        let stamped = line.split_once('T').is_some_and(|(day, _)| day.len() == 10 && day.starts_with("20"));
        assert!(stamped && !line.starts_with("2026-01-01"), "a line that is no record of the host's: {line:?}\n{log}");
        let strange = line.chars().find(|&c| c.is_control() || c == '\u{202e}');
        assert_eq!(strange, None, "a control character reached the log: {line:?}");
    }
}

#[test]
fn a_guest_error_cannot_forge_log_records() {
    let mut client = Client::of(&(plugin("forged-errors", "") + &plugin("echo", "")));
    for way in 0..=6 {
        let called = client.run("forged-errors", json!({"n": way}));
        assert!(called.is_error(), "{way}: {}", called.result());
        assert!(!called.result().to_string().contains("evil.example"), "{way}: a remedy is the host's to word");
    }
    client.check_alive();
    assert!(client.server.end().success());
    check_log_records(&client.server.log());
}

/// The test client fails on a stdout line that is not a message, and on an answer without a request.
#[test]
fn guest_stdout_never_reaches_the_client() {
    let mut client = listener(&(plugin("stdout-noise", "limits.fuel = 100_000_000_000") + &plugin("echo", "")));
    let called = client.run("stdout-noise", json!({}));
    assert_eq!(called.good(), "printed");
    assert!(!called.0.message.to_string().contains("forged"));
    client.check_alive();
    assert!(client.tools().len() == 2);
}

#[test]
fn progress_reports_only_increase() {
    let mut client = listener(&plugin("progress-chaos", ""));
    let called = client.run("progress-chaos", json!({}));
    assert_eq!(called.good(), "reported");
    let done: Vec<_> = called.progress().iter().map(|report| report["progress"].as_f64().unwrap()).collect();
    assert_eq!(done, [1.0, 2.0, 3.0]);
}
