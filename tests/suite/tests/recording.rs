//! `portcullis call --record`: a live call becomes a transcript that `portcullis test` passes at once.

use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};
use suite::web::{Reply, Seen, Web};
use suite::{Home, Ran, agent, at_terminal, paths, plugin, plugin_from, portcullis, with_manifest};

const CANARY: &str = "canary-b52f60d1c9e8";
/// `Basic user:CANARY` as a careless server could echo it.
const ENCODED: &str = "dXNlcjpjYW5hcnktYjUyZjYwZDFjOWU4";

fn configured(config: &str) -> Home {
    let home = Home::new();
    home.write("portcullis.toml", config);
    home
}

fn text(home: &Home, file: &str) -> String {
    fs::read_to_string(home.path().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

fn is_there(home: &Home, file: &str) -> bool {
    home.path().join(file).exists()
}

fn record(home: &Home, words: &[&str], file: &str) -> Ran {
    portcullis(home, &[&["call"], words, &["--record", file]].concat())
}

/// What was recorded, which passes.
fn recorded(home: &Home, ran: &Ran, component: &Path, file: &str) -> String {
    let said = format!("recorded in {file}; it replays");
    assert!(ran.stderr.contains(&said) || ran.stdout.contains(&said), "{ran:?}");
    let tested = portcullis(home, &["test", component.to_str().unwrap(), file]);
    assert!(tested.good().contains("1 of 1 transcripts passed"), "{tested:?}");
    let text = text(home, file);
    assert!(text.starts_with("# Recorded by `portcullis call --record`"), "{text}");
    text
}

/// The error of a call that was not recorded, and left no file.
fn unrecorded(home: &Home, ran: &Ran, file: &str) -> String {
    assert!(!is_there(home, file), "{ran:?}");
    ran.refused().to_owned()
}

#[test]
fn answers_of_a_person_are_recorded() {
    let home = configured(&plugin("ask", "grants.client = { form = true, url = [\"example.com\"] }"));
    let ask = paths::guest("ask");
    let call = |answers: &str, path: &str| {
        at_terminal(&home, answers, &["call", "ask", "run", &format!("path={path}"), "--record", "asked.toml"])
    };
    let written = recorded(&home, &call("Ada", "form"), &ask, "asked.toml");
    for part in [
        "client = { form = true, url = [\"example.com\"] }",
        "answers = [{ form = { name = \"Ada\" } }]",
        "asked = [\"What is your name?\"]",
        "text = '{\"name\":\"Ada\"}'",
        "client = [\"form\", \"url\"]",
        "fuel = ",
    ] {
        assert!(written.contains(part), "{part}: {written}");
    }
    // The field alone is asked again, since it is required; then the others, into the same file.
    let asked_again = call("\nBob", "form");
    assert!(asked_again.stdout.contains("(it is required) "), "{asked_again:?}");
    let again = recorded(&home, &asked_again, &ask, "asked.toml");
    assert!(again.starts_with(&written) && again.contains("answers = [{ form = { name = \"Bob\" } }]"), "{again}");
    call("no", "url").good();
    call("^D", "url").good();
    call("yes", "url").good();
    let ran = call("^D", "form");
    let all = recorded(&home, &ran, &ask, "asked.toml");
    for part in ["answers = [\"decline\"]", "answers = [\"cancel\"]", "answers = [\"visit\"]", "text = \"declined\""] {
        assert!(all.contains(part), "{part}: {all}");
    }
    assert_eq!(all.matches("[[call]]").count(), 6, "{all}");
}

#[test]
fn without_a_terminal_nobody_is_asked_and_that_is_said() {
    let home = configured(&plugin("ask", "grants.client = { form = true, url = [\"example.com\"], sample = {} }"));
    for path in ["form", "url"] {
        let ran = portcullis(&home, &["call", "ask", "run", &format!("path={path}")]);
        let told = ran.refused();
        assert!(told.contains("there is no terminal to answer at: call it at a terminal"), "{told}");
        assert!(told.contains("`portcullis test`") && !told.contains("does not let it"), "{told}");
    }
    let told = portcullis(&home, &["call", "ask", "run", "path=sample"]).refused().to_owned();
    assert!(told.contains("set [model] and grant client.sample.fallback"), "{told}");
    // It is a call as any other, whose client cannot be asked.
    let ran = record(&home, &["ask", "run", "path=form"], "alone.toml");
    assert_eq!(ran.status, Some(1));
    let written = recorded(&home, &ran, &paths::guest("ask"), "alone.toml");
    assert!(written.contains("client = []") && written.contains("error = \"unsupported\""), "{written}");
}

#[test]
fn the_hosts_model_is_recorded() {
    let web = Web::serve(|_| {
        let message = json!({"role": "assistant", "content": "Paris\nof course"});
        Reply::json(json!({"model": "stub-1", "choices": [{"message": message, "finish_reason": "stop"}]}))
    });
    let model = format!("[model]\nurl = {:?}\nname = \"stub\"\n", web.url("/v1/"));
    let home = configured(&(model + &plugin("ask", "grants.client = { sample = { fallback = true } }")));
    let ran = record(&home, &["ask", "run", "path=samples"], "model.toml");
    let written = recorded(&home, &ran, &paths::guest("ask"), "model.toml");
    assert_eq!(written.matches("of course").count(), 4, "two answers, both in the result: {written}");
    assert!(written.contains("client = [\"sample\"]") && written.contains("capital of France"), "{written}");
    // One whose answer is no text cannot be written down.
    drop(web);
    let ran = record(&home, &["ask", "run", "path=sample"], "gone.toml");
    assert!(unrecorded(&home, &ran, "gone.toml").contains("a model gave no answer to repeat"), "{ran:?}");
}

#[test]
fn the_agents_tools_are_recorded_and_what_they_do_is_not() {
    let config = plugin("relay", "grants.agent-tools = [\"*.*\"]")
        + &plugin("pass-on", "grants.agent-tools = [\"*.*\"]")
        + &agent("echo", "echo", "")
        + &agent("slow", "slow-stream", "")
        + &agent("broken", "panic", "")
        + &agent("ask", "ask", "grants.client = { form = true }");
    let (home, relay) = (configured(&config), paths::guest("relay"));
    let ran = record(&home, &["relay", "run", "path=echo.run", "n=3"], "tool.toml");
    let written = recorded(&home, &ran, &relay, "tool.toml");
    for part in ["[[call.tools]]", "name = \"echo.run\"", "called = ['echo.run {\"n\":3}']"] {
        assert!(written.contains(part), "{part}: {written}");
    }
    // One that crashes is recorded as the failure that the plugin saw.
    let ran = record(&home, &["relay", "run", "path=broken.run"], "tool.toml");
    let written = recorded(&home, &ran, &relay, "tool.toml");
    assert!(written.contains("kind = \"failed\""), "{written}");
    // A question of a called tool is none of the call, nor are its chunks.
    let ran = at_terminal(&home, "Ada", &["call", "relay", "run", "path=ask.run", "--record", "nested.toml"]);
    let written = recorded(&home, &ran, &relay, "nested.toml");
    assert!(written.contains("Ada") && !written.contains("answers") && !written.contains("asked"), "{written}");
    let ran = record(&home, &["pass-on", "run", "path=slow.run,slow.run", "n=2"], "chunks.toml");
    let written = recorded(&home, &ran, &paths::guest("pass-on"), "chunks.toml");
    assert!(written.contains("chunks = [\"before\", \"after\"]") && ran.stdout.contains("part 1"), "{written}");
    assert_eq!(written.matches("[[call.tools]]").count(), 2, "{written}");
}

#[test]
fn chunks_and_failures_are_recorded() {
    let config = plugin("slow-stream", "")
        + &plugin("panic", "")
        + &plugin("relay", "")
        + &plugin("spin", "limits.fuel = 20_000_000");
    let home = configured(&config);
    let call = |name: &str, words: &[&str]| {
        let file = format!("{name}.toml");
        let ran = record(&home, &[&[name, "run"], words].concat(), &file);
        recorded(&home, &ran, &paths::guest(name), &file)
    };
    let stream = call("slow-stream", &["n=3"]);
    assert!(stream.contains(r#"chunks = ["part 0", "part 1", "part 2"]"#), "{stream}");
    for (name, part) in
        [("panic", "error = \"trap\""), ("relay", "error = \"denied\""), ("spin", "error = \"fuel-exhausted\"")]
    {
        assert!(call(name, &[]).contains(part), "{name}");
    }
    assert!(text(&home, "spin.toml").contains("[limits]\nfuel = 20000000\n"));
    // Tools that report a failure, and arguments that are refused.
    let ran = record(&home, &["slow-stream", "run", "n=x"], "wrong.toml");
    assert!(
        recorded(&home, &ran, &paths::guest("slow-stream"), "wrong.toml").contains("error = \"invalid-arguments\"")
    );
    let ran = record(&home, &["slow-stream", "run", "{\"n\": null}"], "null.toml");
    assert!(recorded(&home, &ran, &paths::guest("slow-stream"), "null.toml").contains("arguments = '{\"n\":null}'"));
}

/// A web server, and a home whose `fetcher` may use it and a secret.
fn fetching() -> (Web, Home, PathBuf) {
    let web = Web::serve(|seen: &Seen| match seen.path() {
        "/bytes" => Reply::new(200, [0, 159, 146, 150]).with("Content-Type", "application/octet-stream"),
        "/large" => Reply::new(200, "x".repeat(5 << 20)),
        "/echo" => Reply::new(200, seen.header("authorization").unwrap_or_default())
            .with("Location", &format!("/next?key={}", seen.header("authorization").unwrap_or_default())),
        "/encoded" => Reply::new(200, format!("{{\"seen\":\"{ENCODED}\"}}")),
        "/cut" => Reply::new(200, "half of it").cut(),
        "/login" => Reply::new(200, "welcome").with("Set-Cookie", "id=cookie-5d1c77ab; Path=/").with("X-Rate", "7"),
        _ => Reply::new(404, "no such \"page\"\n\n'''"),
    });
    let (home, port) = (Home::new(), web.address.port());
    let requests = json!({"http": [format!("GET,POST http://localhost:{port}")], "secrets": ["key"]});
    let manifest = json!({"name": "fetcher", "version": "0.1.0", "requests": requests});
    let component = home.write("fetcher.wasm", with_manifest(fs::read(paths::guest("fetcher")).unwrap(), &manifest));
    home.write("key.secret", CANARY);
    let grants = format!(
        "grants.http = [{{ allow = \"GET,POST http://localhost:{port}\", private = true }}]\n\
         grants.secrets = [{{ name = \"key\", hosts = [\"localhost\"] }}]"
    );
    let config = plugin_from("fetcher", &component, &grants) + "[secrets.key]\nfile = \"key.secret\"\n";
    home.write("portcullis.toml", config);
    (web, home, component)
}

fn fetch(home: &Home, web: &Web, path: &str, headers: &str, file: &str) -> Ran {
    let request = format!("path={path}{headers}").replace("HOST", &format!("http://localhost:{}", web.address.port()));
    record(home, &["fetcher", "run", &request], file)
}

#[test]
fn answers_of_servers_are_recorded_without_credentials() {
    let (web, home, fetcher) = fetching();
    let ran = fetch(&home, &web, "GET HOST/bytes", "", "bytes.toml");
    let written = recorded(&home, &ran, &fetcher, "bytes.toml");
    assert!(
        written.contains("body-base64 = \"AJ+Slg==\"") && written.contains("application/octet-stream"),
        "{written}"
    );
    // Sent in a header, echoed plainly in a body and in a header.
    let ran = fetch(&home, &web, "GET HOST/echo", "\nAuthorization: Bearer {{secret:key}}", "echo.toml");
    assert_eq!(web.seen().last().unwrap().header("authorization"), Some(&*format!("Bearer {CANARY}")), "it was sent");
    let written = recorded(&home, &ran, &fetcher, "echo.toml");
    let masked = "*".repeat(CANARY.len());
    assert!(written.contains(&format!("body = \"Bearer {masked}\"")) && !written.contains(CANARY), "{written}");
    let (_, answered) = written.split_once("[[call.http]]").unwrap();
    assert!(answered.contains("location = ") && !answered.to_lowercase().contains("authorization"), "{written}");
    // An answer whose body the tool does not read.
    let ran = fetch(&home, &web, "hold\nGET HOST/bytes", "", "held.toml");
    recorded(&home, &ran, &fetcher, "held.toml");
    // A request that is refused is refused again.
    let ran = fetch(&home, &web, "GET http://example.com/", "", "denied.toml");
    recorded(&home, &ran, &fetcher, "denied.toml");
}

#[test]
fn requests_of_a_called_tool_are_none_of_the_call() {
    let (web, home, fetcher) = fetching();
    let config = text(&home, "portcullis.toml").replace("[plugins.fetcher]", "[agent.fetcher]");
    home.write("portcullis.toml", config + &plugin("agent-calls", "grants.agent-tools = [\"*.*\"]"));
    let request = format!("GET {}", web.url("/bytes").replace("127.0.0.1", "localhost"));
    let steps = json!([{"call": {"name": "fetcher.run", "arguments": {"path": request}}}]).to_string();
    let ran = record(&home, &["agent-calls", "run", &json!({"path": steps}).to_string(), "--json"], "nested.toml");
    let written = recorded(&home, &ran, &paths::guest("agent-calls"), "nested.toml");
    assert!(written.contains("[[call.tools]]") && !written.contains("[[call.http]]"), "{written}");
    assert_eq!(web.seen().len(), 1, "the replay asks nobody");
    let printed: serde_json::Value =
        serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"));
    assert_eq!(printed["isError"], false);
    // The agent's own tool is recorded by itself.
    let ran = record(&home, &["fetcher", "run", &format!("path={request}")], "agent.toml");
    assert!(recorded(&home, &ran, &fetcher, "agent.toml").contains("[[call.http]]"));
}

#[test]
fn no_secret_gets_into_the_file() {
    let (web, home, _) = fetching();
    let as_address = format!("GET HOST/page?key={CANARY}");
    let encoded_address = format!("GET HOST/page?key={ENCODED}");
    for (path, headers) in [
        ("GET HOST/encoded", ""),
        (&*as_address, ""),
        (&*encoded_address, ""),
        ("GET HOST/page", &*format!("\nX-A: {CANARY}")),
    ] {
        let ran = fetch(&home, &web, path, headers, "leak.toml");
        let told = unrecorded(&home, &ran, "leak.toml");
        assert!(told.contains("the secret `key`, as it is or encoded, would stand in leak.toml"), "{path}: {told}");
        assert!(!is_there(&home, "leak.toml.draft"), "{path}");
    }
    // The tool shows all headers, and so what a server gave it as a credential.
    let ran = fetch(&home, &web, "GET HOST/login", "", "login.toml");
    assert!(ran.stdout.contains("cookie-5d1c77ab") && !is_there(&home, "login.toml.draft"), "{ran:?}");
    let told = unrecorded(&home, &ran, "login.toml");
    assert!(told.contains("what a server sent as `set-cookie` would stand in login.toml"), "{told}");
}

#[test]
fn what_is_too_much_or_has_no_answer_is_refused() {
    let home = configured(&plugin("large", ""));
    let ran = record(&home, &["large", "run", "path=structure", "n=3"], "large.toml");
    assert!(unrecorded(&home, &ran, "large.toml").contains("more than the 8388608 of a transcript"), "{}", ran.stderr);
    let ran = record(&home, &["large", "run", "path=picture", "n=3"], "picture.toml");
    let written = recorded(&home, &ran, &paths::guest("large"), "picture.toml");
    assert!(written.contains("[image/png, 3145728 bytes]") && written.len() < 1_000, "{written}");
    let (web, home, _) = fetching();
    for (path, part) in [
        ("GET HOST/large", "it is more than a transcript can hold, 4 MiB, with the answer to `GET http://localhost:"),
        ("GET HOST/cut", "broke off, which cannot be repeated"),
    ] {
        let ran = fetch(&home, &web, path, "", "none.toml");
        let told = unrecorded(&home, &ran, "none.toml");
        assert!(told.contains("the call was not recorded: ") && told.contains(part), "{path}: {told}");
        assert!(!is_there(&home, "none.toml.draft"), "{path}");
    }
    assert!(web.seen().iter().any(|seen| seen.path() == "/large"), "the call itself was made");
}

#[test]
fn changes_in_granted_directories_are_not_made_twice() {
    let grants = "grants.client = { form = true }\ngrants.filesystem = [{ host = \"work\", guest = \"/work\", access = \"write\" }]";
    let home = configured(
        &(plugin("ask", grants)
            + &plugin(
                "read-inside",
                "grants.filesystem = [{ host = \"work\", guest = \"/work\", access = \"read\" }]",
            )),
    );
    let ran = record(&home, &["ask", "run", "path=rounds", "n=0"], "effects.toml");
    assert!(unrecorded(&home, &ran, "effects.toml").contains("its replay would change it once more"), "{ran:?}");
    assert_eq!(text(&home, "work/effects"), "done\n", "the call itself was made, once");
    // What is only read may be.
    fs::create_dir(home.path().join("tests")).unwrap();
    let ran = record(&home, &["read-inside", "run"], "tests/read.toml");
    let written = recorded(&home, &ran, &paths::guest("read-inside"), "tests/read.toml");
    assert!(written.contains("host = \"../work\""), "{written}");
    assert!(ran.stderr.contains("files of a granted directory, which the transcript does not hold"), "{ran:?}");
}

#[test]
fn addresses_of_published_resources_are_those_of_the_plugin() {
    let home = configured(&plugin("publish-all", "grants.publish = true"));
    let ran = record(&home, &["publish-all", "run"], "published.toml");
    let written = recorded(&home, &ran, &paths::guest("publish-all"), "published.toml");
    assert!(
        written.contains("plugin = \"publish-all\"") && written.contains("publish-all/report/today.txt"),
        "{written}"
    );
}

#[test]
fn a_replay_that_differs_leaves_a_draft_and_says_why() {
    let home = configured(&plugin("keeper", "grants.state = {}"));
    let keeper = paths::guest("keeper");
    portcullis(&home, &["call", "keeper", "run", "path=set k before"]).good();
    let ran = record(&home, &["keeper", "run", "path=get k"], "state.toml");
    let told = unrecorded(&home, &ran, "state.toml");
    for part in ["its replay differs", "- before", "+ nothing", "a transcript begins with none", "state.toml.draft"] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert_eq!(ran.stdout.trim(), "before", "the call itself is as ever");
    assert!(text(&home, "state.toml.draft").contains("text = \"before\""));
    // With the call that stores it in the same file, it passes.
    let home = configured(&plugin("keeper", "grants.state = {}"));
    recorded(&home, &record(&home, &["keeper", "run", "path=set k new"], "state.toml"), &keeper, "state.toml");
    let written =
        recorded(&home, &record(&home, &["keeper", "run", "path=get k"], "state.toml"), &keeper, "state.toml");
    assert!(written.contains("text = \"new\""), "{written}");
    // A file that does not pass is not added to, and is as it was.
    let broken = written.replace("text = \"new\"", "text = \"old\"");
    home.write("state.toml", &broken);
    let ran = record(&home, &["keeper", "run", "path=get k"], "state.toml");
    assert!(ran.refused().contains("call 2 that state.toml had before does not pass"), "{ran:?}");
    assert_eq!(text(&home, "state.toml"), broken);
}

#[test]
fn what_cannot_be_recorded_is_refused_before_the_call() {
    let home = configured(&(plugin("relay", "grants.agent-tools = [\"echo.*\"]") + &agent("echo", "echo", "")));
    let refused = |file: &str| {
        let ran = record(&home, &["relay", "run"], file);
        assert!(!ran.stderr.contains(" fuel, "), "it was called: {ran:?}");
        ran.refused().to_owned()
    };
    home.write("other.toml", "[grants]\nagent-tools = [\"notes.*\"]\n[[call]]\ntool = \"run\"\n");
    assert!(refused("other.toml").contains("other.toml has other grants than the plugin `relay`"));
    home.write("limits.toml", "[grants]\nagent-tools = [\"echo.*\"]\n[limits]\nfuel = 7\n[[call]]\ntool = \"run\"\n");
    assert!(refused("limits.toml").contains("other limits than the plugin `relay`"));
    home.write("no.toml", "[nothing");
    assert!(refused("no.toml").contains("no.toml"));
    assert!(refused("none/a.toml").contains("there is no folder"));
    assert!(refused(".").contains('.'));
    assert_eq!(text(&home, "no.toml"), "[nothing");
    let coded = format!("[code]\nplugin = \"relay\"\n{}", plugin("relay", ""));
    let home = configured(&coded);
    let ran = record(&home, &["relay", "run"], "code.toml");
    assert!(unrecorded(&home, &ran, "code.toml").contains("programs of code mode cannot be recorded"), "{ran:?}");
}
