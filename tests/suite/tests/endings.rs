//! However a session ends, its calls are in the audit, and the server ends soon.

use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use suite::client::modern_meta;
use suite::{Client, Era, Home, PATIENCE, Server, eventually, paths, plugin};

const ENDLESS: &str = "limits.deadline = \"1h\"";
/// Requests that a client sends less than 100 ms before it closes stdin are those of a script.
const SILENCE: Duration = Duration::from_millis(150);
/// What a script's requests may take, which a server that ends at once must not.
const SCRIPT: Duration = Duration::from_secs(5);

/// Plugin and outcome of the calls in the audit.
pub(crate) fn verdicts(home: &Home) -> Vec<(String, String)> {
    let text = fs::read_to_string(home.path().join("state/audit/audit.jsonl")).unwrap_or_default();
    let records = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let verdicts = records.filter(|record| record["event"] == "verdict");
    verdicts.map(|it| (it["plugin"].as_str().unwrap().to_owned(), it["outcome"].as_str().unwrap().to_owned())).collect()
}

fn cancelled() -> Vec<(String, String)> {
    vec![("plugins.wait-forever".to_owned(), "cancelled".to_owned())]
}

/// A client of a server that runs a call which does not end.
fn running(era: Era, progress: bool) -> Client {
    let mut client = Client::new(Server::start(&plugin("wait-forever", ENDLESS)), era, false);
    client.progress = progress;
    client.begin_call("wait-forever__run", json!({}));
    // Requests are processed in order, so the call has begun when this one is answered.
    client.tools();
    client
}

/// Requests of 2026-07-28 without progress are served directly, all others by rmcp.
const WAYS: [(Era, bool); 3] = [(Era::Modern, false), (Era::Modern, true), (Era::Legacy, false)];

#[test]
fn the_end_of_stdin_cancels_and_records_running_calls() {
    for (era, progress) in WAYS {
        let mut client = running(era, progress);
        std::thread::sleep(SILENCE);
        let asked = Instant::now();
        assert!(client.server.end().success());
        assert!(asked.elapsed() < SCRIPT / 2, "{era:?}: {:?}", asked.elapsed());
        assert_eq!(verdicts(&client.server.home), cancelled(), "{era:?}, progress: {progress}");
    }
}

#[test]
fn a_stop_after_the_end_of_stdin_is_obeyed_at_once() {
    let mut client = running(Era::Legacy, false);
    let asked = Instant::now();
    client.server.close_stdin();
    client.server.terminate();
    assert!(client.server.ended().success());
    assert!(asked.elapsed() < SCRIPT / 2, "{:?}", asked.elapsed());
    assert_eq!(verdicts(&client.server.home), cancelled());
}

#[test]
fn a_second_signal_and_a_hangup_lose_no_record() {
    for (first, second) in [("-TERM", "-INT"), ("-HUP", "-HUP")] {
        if first == "-HUP" && ignores_hangup() {
            continue;
        }
        let mut client = running(Era::Legacy, false);
        client.server.signal(first);
        client.server.wait_for_log("stopping: running calls have 9 s");
        client.server.signal(second);
        assert!(client.server.ended().success(), "{first}");
        assert_eq!(verdicts(&client.server.home), cancelled(), "{first}");
        assert_eq!(client.server.log().matches("stopping: ").count(), 1, "{}", client.server.log());
    }
}

/// Whether the tests themselves, and so the servers that they start, were started by `nohup`.
fn ignores_hangup() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap().trim();
    u64::from_str_radix(ignored, 16).unwrap() & 1 == 1
}

/// `nohup` ignores the signal for the programs that it starts.
#[test]
fn an_ignored_hangup_stays_ignored() {
    let server = Server::spawn(Home::new(), &plugin("echo", ""), &[], |command| {
        let program = std::mem::replace(command, Command::new("/bin/sh"));
        command.args(["-c", "trap '' HUP; exec \"$@\"", "sh"]).arg(program.get_program()).args(program.get_args());
        command.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.current_dir(program.get_current_dir().unwrap());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    });
    let mut client = Client::new(server, Era::Modern, false);
    client.check_alive();
    client.server.signal("-HUP");
    client.check_alive();
}

#[test]
fn the_requests_of_a_script_are_answered_after_the_end_of_stdin() {
    for era in Era::ALL {
        let mut client = Client::new(Server::start(&plugin("slow-stream", "")), era, false);
        let id = client.begin_call("slow-stream__run", json!({"n": 30}));
        let messages = client.server.rest();
        let answer = messages.iter().find(|message| message["id"] == id).unwrap_or_else(|| panic!("{messages:?}"));
        assert_eq!(answer["result"]["content"][0]["text"], "30 parts", "{era:?}");
    }
}

/// A client that is killed reads no more, whoever else keeps the server's stdin open.
#[test]
fn a_server_ends_when_nobody_reads_its_stdout() {
    let home = Home::new();
    let config = home.write("portcullis.toml", plugin("wait-forever", ENDLESS));
    let mut command = Command::new(paths::binary());
    command.args(["serve", "--config"]).arg(config);
    command.env("PORTCULLIS_CACHE", paths::cache()).env("PORTCULLIS_STATE", home.path().join("state"));
    let mut server = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let (mut stdin, mut stdout) = (server.stdin.take().unwrap(), BufReader::new(server.stdout.take().unwrap()));
    let meta = modern_meta(false);
    let call = json!({"name": "wait-forever__run", "arguments": {}, "_meta": meta});
    for (id, method, params) in [(1, "tools/call", call), (2, "tools/list", json!({"_meta": meta}))] {
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        writeln!(stdin, "{request}").unwrap();
    }
    stdout.read_line(&mut String::new()).unwrap();
    drop(stdout);
    let ended = eventually(PATIENCE, || server.try_wait().unwrap());
    let _ = server.kill();
    assert!(ended.expect("it ends").success());
    assert_eq!(verdicts(&home), cancelled());
    drop(stdin);
}

/// A call that waits for its client to come back, and is in memory only, has nobody to come back to.
#[test]
fn a_parked_call_is_recorded_at_the_end() {
    let abilities = json!({"elicitation": {"form": {}}});
    let config =
        "[server]\nparked = { stored = false }\n\n".to_owned() + &plugin("ask", "grants.client = { form = true }");
    let mut client = Client::able(Server::start(&config), Era::Modern, false, abilities);
    let asked = client.request("tools/call", json!({"name": "ask__run", "arguments": {"path": "form"}}));
    assert_eq!(asked.result()["resultType"], "input_required");
    assert!(client.server.end().success());
    let verdicts = verdicts(&client.server.home);
    assert_eq!(verdicts, [("plugins.ask".to_owned(), "cancelled".to_owned())]);
}
