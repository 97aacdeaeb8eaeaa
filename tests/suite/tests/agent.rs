//! `portcullis agent` against `portcullis serve`: scripts over both transports in both revisions, rules, policies, events,
//! and a person at a terminal.

use serde_json::{Value, json};
use std::process::Command;
use suite::{Home, Ran, Server, agent, paths, plugin, portcullis};

fn plugins() -> String {
    let questions = r#"grants.client = { form = true, url = ["example.com"], sample = { calls = 3, tokens = 1000 } }"#;
    plugin("agent-calls", r#"grants = { agent-tools = ["*.*"], client = { form = true } }"#)
        + &plugin("ask", questions)
        + &plugin("chunk-kinds", "")
        + &plugin("event-flood", r#"grants.events = ["policy.*"]"#)
        + &plugin("slow-stream", "")
        + &plugin("steered", "grants.client = { form = true }")
        + &plugin("panic", "")
        + &plugin("large", "")
}

/// The output of one run of the agent.
struct Done {
    ran: Ran,
    events: Vec<Value>,
}

impl Done {
    fn all(&self, kind: &str) -> Vec<&Value> {
        self.events.iter().filter(|event| event["event"] == kind).collect()
    }

    /// The text of the only result.
    fn result(&self) -> &str {
        let results = self.all("result");
        assert_eq!(results.len(), 1, "{:?}", self.ran);
        results[0]["text"].as_str().unwrap()
    }

    fn good(self) -> Self {
        assert_eq!(self.ran.status, Some(0), "{:?}", self.ran);
        self
    }
}

/// An agent with its own folder, and the address of its server.
struct Agent {
    home: Home,
    address: String,
    _server: Option<Server>,
}

impl Agent {
    /// An agent that starts its server itself.
    fn over_stdio() -> Self {
        let home = Home::new();
        let folder = |name: &str| home.path().join(name).display().to_string();
        // The server does not inherit our environment variables.
        let server = format!("[server]\ncache = {:?}\nstate = {:?}\n\n", paths::cache(), folder("server-state"));
        let file = home.write("server.toml", server + &plugins());
        // Compiles everything in advance, since an agent does not wait for that.
        portcullis(&home, &["plugin", "list", "--load", "--config", &file.display().to_string()]).good();
        let address = format!("'{}' serve --config '{}'", paths::binary().display(), file.display());
        Self { home, address, _server: None }
    }

    /// An agent that connects to a running server.
    fn over_http() -> Self {
        let (server, address) = Server::start_http(&plugins());
        Self { home: Home::new(), address: format!("http://{address}/mcp"), _server: Some(server) }
    }

    /// Runs a script.
    fn run(&self, script: &str, rules: &str, options: &[&str]) -> Done {
        let file = |name: &str, text: &str| self.home.write(name, text).display().to_string();
        let mut command = Command::new(paths::binary());
        command.args(["agent", "--json", "--connect", &format!("demo={}", self.address)]);
        command.args(["--script", &file("script", script), "--rules", &file("rules.toml", rules)]);
        command.args(["--config", &file("agent.toml", &agent("echo", "echo", ""))]).args(options);
        command.env("PORTCULLIS_CACHE", paths::cache()).env("PORTCULLIS_STATE", self.home.path().join("state"));
        let ran = suite::cli::run(command);
        let read = |line: &str| serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: {line}"));
        Done { events: ran.stdout.lines().map(read).collect(), ran }
    }
}

/// A script whose call makes reverse calls of `echo.run` with these numbers.
fn calling(numbers: &[u64]) -> String {
    let step = |n: &u64| json!({"call": {"name": "echo.run", "arguments": {"n": n}}});
    let steps: Value = numbers.iter().map(step).collect();
    format!("call agent-calls__run {}", json!({"path": steps.to_string()}))
}

const ALLOW: &str = "[[tool]]\ntool = \"echo.*\"\napproval = \"allow\"\n";

#[test]
fn a_script_calls_tools_over_both_transports_in_both_eras() {
    for agent in [Agent::over_stdio(), Agent::over_http()] {
        for options in [&[][..], &["--legacy"]] {
            let done = agent.run("list\ncall slow-stream__run {\"n\": 3}\nservers", "", options).good();
            assert_eq!(done.result(), "3 parts");
            let chunks: Vec<_> = done.all("chunk").iter().map(|chunk| chunk["text"].clone()).collect();
            assert_eq!(chunks, ["part 0", "part 1", "part 2"]);
            let state = done.all("servers")[0]["servers"][0]["state"].as_str().unwrap().to_owned();
            let era = if options.is_empty() { "2026-07-28" } else { "2025-11-25" };
            assert!(state.contains(era), "{state}");
        }
    }
}

#[test]
fn the_exit_code_says_whether_all_calls_succeeded() {
    let agent = Agent::over_stdio();
    for bad in ["call panic__run", "call nothing__run", "call slow-stream__run {\"n\": \"x\"}", "sing"] {
        let done = agent.run(bad, "", &[]);
        assert_eq!(done.ran.status, Some(1), "{bad}: {:?}", done.ran);
        assert_eq!(done.all("result").len() + done.all("error").len(), 1, "it is said why: {:?}", done.ran);
    }
}

#[test]
fn reverse_calls_are_decided_by_rules_and_declined_without() {
    for agent in [Agent::over_stdio(), Agent::over_http()] {
        for options in [&[][..], &["--legacy"]] {
            let done = agent.run(&calling(&[7, 8]), ALLOW, options).good();
            assert!(done.result().contains("\"n\":7") && done.result().contains("\"n\":8"), "{}", done.result());
            assert!(done.result().contains("Client"), "it came from the agent: {}", done.result());
            let decided = done.all("approval-decided");
            assert_eq!(decided.len(), 2);
            assert!(decided.iter().all(|one| one["decidedBy"] == "line 1 of rules.toml" && one["decision"] == "allow"));
        }
    }
    let agent = Agent::over_stdio();
    let declined = agent.run(&calling(&[7]), "", &[]).good();
    assert!(declined.result().contains("declined") && declined.result().contains("nobody is there"));
    let denied = "[[tool]]\ntool = \"echo.*\"\napproval = \"deny\"\nreason = \"not on a monday\"";
    assert!(agent.run(&calling(&[7]), denied, &[]).good().result().contains("not on a monday"));
}

#[test]
fn questions_are_answered_by_rules_and_declined_without() {
    let agent = Agent::over_stdio();
    let form = "call ask__run {\"path\": \"form\"}";
    let rule = "[[form]]\nserver = \"demo\"\ndo = \"answer\"\nanswer = { name = \"Ada\" }";
    for options in [&[][..], &["--legacy"]] {
        assert!(agent.run(form, rule, options).good().result().contains("Ada"));
        let declined = agent.run(form, "[[form]]\ndo = \"ask\"", options);
        let decided = &declined.all("approval-decided")[0];
        assert_eq!(
            (&decided["decision"], &decided["decidedBy"]),
            (&json!("decline"), &json!("nobody is there to decide"))
        );
    }
    // A capability without a rule is not declared.
    let silent = agent.run(form, "", &[]);
    assert_eq!((silent.ran.status, silent.all("approval-decided").len()), (Some(1), 0), "{:?}", silent.ran);
    let page = agent.run("call ask__run {\"path\": \"url\"}", "[[page]]\ndo = \"ask\"\nhosts = [\"other.org\"]", &[]);
    assert_eq!(page.all("approval-decided")[0]["subject"], "page on example.com");
    assert_eq!(page.all("approval-decided")[0]["decision"], "decline");
}

#[test]
fn tools_of_another_server_are_forwarded_only_where_a_rule_says_so() {
    let agent = Agent::over_http();
    // The agent treats the same server under another name as a different server.
    let two = format!("two={}", agent.address);
    let call = |name: &str| json!({"call": {"name": name, "arguments": {"n": 2}}});
    let steps = json!([{"list": true}, call("two.slow-stream__run"), call("two.echo__run")]).to_string();
    let script = format!("call demo.agent-calls__run {}", json!({"path": steps}));
    let offer = format!("{ALLOW}[[tool]]\napproval = \"allow\"\n[[offer]]\nserver = \"demo\"\ntool = \"two.slow-*\"");
    let done = agent.run(&script, &offer, &["--connect", &two]).good();
    assert!(done.result().starts_with(r#"[["echo.run","two.slow-stream__run"]"#), "{}", done.result());
    assert!(done.result().contains("2 parts") && done.result().contains("unknown-tool"), "{}", done.result());
    let done = agent.run(&script, "[[tool]]\napproval = \"allow\"", &["--connect", &two]).good();
    assert!(done.result().starts_with(r#"[["echo.run"],"#) && !done.result().contains("2 parts"), "{}", done.result());
}

/// The transcript that a model receives, as text.
fn transcript(done: &Done) -> String {
    done.all("transcript").iter().map(|item| item.to_string()).collect::<Vec<_>>().join("\n")
}

#[test]
fn policy_decides_what_a_model_sees() {
    let agent = Agent::over_http();
    let see = |policy: &str| {
        let rules = format!("[[chunks]]\npolicy = \"{policy}\"");
        let done = agent.run("call slow-stream__run {\"n\": 3}", &rules, &["--transcript"]).good();
        assert_eq!(done.all("chunk").len(), 3, "the user sees them in any case");
        transcript(&done)
    };
    let (ui, digest, inject) = (see("ui-only"), see("digest"), see("inject"));
    assert!(ui.contains("3 parts") && !ui.contains("part 0"), "{ui}");
    assert!(digest.contains("3 chunks") && digest.contains("part 0") && !digest.contains("part 1"), "{digest}");
    assert!(["part 0", "part 1", "part 2"].iter().all(|part| inject.contains(part)), "{inject}");
    // `chunk-kinds` sends some chunks to the user only.
    let rules = "[[chunks]]\npolicy = \"inject\"";
    let done = agent.run("call chunk-kinds__run", rules, &["--transcript"]).good();
    assert!(!done.all("chunk").is_empty() && transcript(&done).contains("\"kind\":\"chunks\""), "{:?}", done.ran);
    assert!(done.ran.stdout.contains("für dich") && !transcript(&done).contains("für dich"), "{:?}", done.ran);
}

#[test]
fn a_scripted_model_steers_a_call_while_it_runs() {
    let agent = Agent::over_http();
    let script = "when \"ready\" steer make it a comedy\nwhen \"comedy\" steer stop\ncall steered__run";
    for options in [&[][..], &["--legacy"]] {
        let done = agent.run(script, "[[chunks]]\npolicy = \"inject\"", options).good();
        assert_eq!(done.result(), "heard 1");
        assert_eq!(done.all("model").len(), 2, "{:?}", done.ran);
    }
}

#[test]
fn an_event_starts_one_agent_call_with_consent() {
    let agent = Agent::over_http();
    agent.run("call event-flood__run", "", &[]).good();
    let on = ["--on", "policy.effective=call demo.slow-stream__run {\"n\": 1}"];
    let refused = agent.run("", "", &on).good();
    assert_eq!((refused.all("inbox-event").len(), refused.all("started").len()), (1, 0), "{:?}", refused.ran);
    // With a new folder the agent has seen no event yet.
    let agent = Agent { home: Home::new(), ..agent };
    let consent = "[[reaction]]\nevent = \"policy.*\"\napproval = \"allow\"";
    let done = agent.run("", consent, &on).good();
    assert_eq!(
        (done.all("inbox-event").len(), done.result()),
        (1, "1 parts"),
        "emitted twice, kept once: {:?}",
        done.ran
    );
    let again = agent.run("", consent, &on).good();
    assert_eq!(again.all("inbox-event").len(), 0, "each event once, over restarts: {:?}", again.ran);
}

#[test]
fn a_flood_of_events_starts_a_bounded_number_of_calls() {
    let agent = Agent::over_http();
    agent.run("call event-flood__run {\"n\": 40}", "", &[]);
    let consent = "[[reaction]]\napproval = \"allow\"";
    let done = agent.run("", consent, &["--on", "policy.*=call demo.slow-stream__run {\"n\": 0}"]).good();
    let (started, held) = (done.all("started").len(), done.all("rate-limited"));
    assert_eq!(started, 10, "{:?}", done.ran);
    assert!(held[0]["events"].as_u64().unwrap() > 0);
}

#[test]
fn a_person_at_a_terminal_approves_edits_denies_answers_steers_and_is_remembered() {
    let agent = Agent::over_stdio();
    let config = agent.home.write("agent.toml", suite::agent("echo", "echo", ""));
    let mut command = Command::new(paths::python());
    command.arg(paths::client_script("terminal.py")).arg(paths::binary()).arg(config).arg(agent.home.path());
    command.arg(paths::binary()).args(["serve", "--config"]).arg(agent.home.path().join("server.toml"));
    command.env("PORTCULLIS_CACHE", paths::cache());
    assert!(suite::cli::run(command).good().contains("all was as it should be"));
}

#[test]
fn what_is_typed_ahead_is_kept_and_shown_once_and_long_answers_are_paged() {
    let agent = Agent::over_stdio();
    let mut command = Command::new(paths::python());
    command.arg("-B").arg(paths::client_script("typing_ahead.py")).arg(paths::binary()).arg(agent.home.path());
    command.arg(paths::binary()).args(["serve", "--config"]).arg(agent.home.path().join("server.toml"));
    assert!(suite::cli::run(command).good().contains("all was as it should be"));
}
