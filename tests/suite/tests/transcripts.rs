//! `portcullis test`: transcripts of a plugin's calls, run against the real host.

use serde_json::{Value, json};
use std::fs;
use suite::{Home, Ran, paths, portcullis, with_manifest};

const TRAVEL: &str = r#"# A trip is booked after a yes.
[grants]
client = { form = true, sample = {} }
filesystem = [{ host = ".", guest = "/bookings", access = "write" }]

[[call]]
tool = "travel_agent"
arguments = { destination = "Lisbon" }
answers = [{ form = { confirm = true } }, { model = "Enjoy the sea." }]

[[call]]
tool = "travel_agent"
arguments = { destination = "Lisbon" }
answers = ["decline"]
"#;

fn test(home: &Home, component: &std::path::Path, transcript: &str, options: &[&str]) -> Ran {
    let file = home.write("transcript.toml", transcript);
    let arguments = ["test", component.to_str().unwrap(), file.to_str().unwrap()];
    portcullis(home, &[&arguments[..], options].concat())
}

#[test]
fn an_author_writes_the_calls_and_has_the_rest_written() {
    let (home, travel) = (Home::new(), paths::real_plugin("travel"));
    assert!(test(&home, &travel, TRAVEL, &["--update"]).good().contains("1 of 1 transcripts passed"));
    let written = fs::read_to_string(home.path().join("transcript.toml")).unwrap();
    assert!(written.starts_with("# A trip is booked after a yes.\n"), "comments stay: {written}");
    for part in
        ["[call.expect]", "Booked Lisbon for", "asked = [\"Confirm 1280 for Lisbon?\"", "the user declined", "fuel = "]
    {
        assert!(written.contains(part), "{part}: {written}");
    }
    assert!(test(&home, &travel, &written, &[]).good().starts_with("ok "), "what was written passes");
    let wrong =
        written.replace("Enjoy the sea.\"\"\"", "Enjoy the mountains.\"\"\"").replace("fuel = 200000", "fuel = 7");
    let told = test(&home, &travel, &wrong, &[]).failed().to_owned();
    for part in [
        "FAILED",
        "call 1 of `travel_agent`",
        "- Enjoy the mountains.",
        "+ Enjoy the sea.",
        "at most 7 expected",
        "0 of 1",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert!(!told.contains("call 2"), "{told}");
}

#[test]
fn tools_and_servers_answer_from_the_transcript() {
    let (home, relay) = (Home::new(), paths::guest("relay"));
    let transcript = r#"
[grants]
agent-tools = ["notes.*"]
[[call]]
tool = "run"
arguments = { path = "notes.add", n = 3 }
tools = [{ name = "notes.add", result = { id = 7 } }]
[call.expect]
structured = '{"id":7}'
called = ['notes.add {"n":3}']
[[call]]
tool = "run"
arguments = { path = "notes.add" }
tools = [{ name = "notes.add", error = "the disk is full" }]
[call.expect]
called = ["notes.add {}"]
[[call]]
tool = "run"
arguments = { path = "other.add" }
[call.expect]
error = "denied"
called = []
"#;
    test(&home, &relay, transcript, &[]).good();
    let fetch = paths::real_plugin("fetch");
    let page = r#"
[grants]
http = [{ allow = "GET https://example.com/" }]
[[call]]
tool = "get"
arguments = { url = "https://example.com/page" }
[[call.http]]
request = "GET https://example.com/page"
headers = { content-type = "text/plain" }
body = "Hello from a page."
[call.expect]
sent = ["GET https://example.com/page"]
"#;
    let ran = test(&home, &fetch, page, &["--update"]);
    ran.good();
    let written = fs::read_to_string(home.path().join("transcript.toml")).unwrap();
    assert!(written.contains("Hello from a page."), "{written}");
}

#[test]
fn what_is_left_over_and_what_is_never_used_is_said() {
    let (home, relay) = (Home::new(), paths::guest("relay"));
    let transcript = "[grants]\nagent-tools = [\"notes.*\"]\n[[call]]\ntool = \"run\"\narguments = { path = \"other.x\" }\n\
                      answers = [\"decline\"]\ntools = [{ name = \"notes.add\", result = \"x\" }]\n";
    let told = test(&home, &relay, transcript, &[]).failed().to_owned();
    assert!(told.contains("nobody asked for an answer to a question"), "{told}");
    assert!(told.contains("nobody asked for the answer of the tool `notes.add`"), "{told}");
    assert!(told.contains("the manifest requests agent-tools \"*.*\", and no transcript used it"), "{told}");
}

#[test]
fn a_transcript_that_cannot_be_read_says_where() {
    let (home, echo) = (Home::new(), paths::guest("echo"));
    for (transcript, part) in [
        ("[[call]]\ntol = \"run\"\n", "unknown field `tol`"),
        ("[[call]\n", "transcript.toml"),
        ("", "it needs a [[call]]"),
        ("[[call]]\ntool = \"walk\"\n", "there is no tool `walk`; there are: run"),
        ("[grants]\nagent-tools = [\"*\"]\n[[call]]\ntool = \"run\"\n", "agent-tools"),
    ] {
        let ran = test(&home, &echo, transcript, &[]);
        assert!(ran.refused().contains(part), "{part}: {}", ran.refused());
    }
    let told = test(&home, &echo, "[[call]]\ntool = \"run\"\n[call.expect]\ntxt = \"a\"\n", &[]).failed().to_owned();
    assert!(told.contains("`txt` is no key of `expect`"), "{told}");
    let ran = portcullis(&home, &["test", echo.to_str().unwrap()]);
    assert!(ran.refused().contains("the folder `tests` cannot be read"), "{}", ran.refused());
}

/// A guest with a manifest that requests this.
fn requesting(home: &Home, guest: &str, requests: Value) -> std::path::PathBuf {
    let manifest = json!({"name": guest, "version": "0.1.0", "requests": requests});
    home.write("requesting.wasm", with_manifest(fs::read(paths::guest(guest)).unwrap(), &manifest))
}

/// The requests that no transcript used.
fn unused(ran: &Ran) -> Vec<&str> {
    let (before, after) = ("note: the manifest requests ", ", and no transcript used it");
    ran.stdout.lines().filter_map(|line| line.strip_prefix(before)?.split(after).next()).collect()
}

#[test]
fn what_only_the_sandbox_sees_counts_as_used() {
    let home = Home::new();
    let all = json!({"filesystem": "write", "scratch": true, "publish": true, "events": ["done.*", "never.*"], "state": true,
        "env": ["LANG"], "secrets": ["key"]});
    let everything = requesting(&home, "everything", all);
    let transcript = "[grants]\nscratch = { guest = \"/own\" }\npublish = true\nevents = [\"*\"]\nstate = {}\n\
                      [[call]]\ntool = \"run\"\n";
    let transcript = transcript.replace("[\"*\"]", "[\"done.*\", \"never.*\"]");
    let ran = test(&home, &everything, &transcript, &[]);
    ran.good();
    assert_eq!(
        unused(&ran),
        ["filesystem \"write\"", "events \"never.*\"", "secrets \"key\"", "env \"LANG\""],
        "{ran:?}"
    );
    // Without a grant nothing is kept, and so nothing is used.
    let ran = test(&home, &everything, "[[call]]\ntool = \"run\"\n", &[]);
    let told = unused(&ran);
    assert!(["publish", "state", "scratch", "events \"done.*\""].iter().all(|it| told.contains(it)), "{ran:?}");

    let call = "[[call]]\ntool = \"run\"\n";
    assert_eq!(unused(&test(&home, &paths::guest("env-peek"), call, &[])), [""; 0], "it asks for its environment");
    // A trip that is booked is written down.
    assert_eq!(unused(&test(&home, &paths::real_plugin("travel"), TRAVEL, &[])), [""; 0]);
    let declined = TRAVEL.replace("{ form = { confirm = true } }, { model = \"Enjoy the sea.\" }", "\"decline\"");
    assert_eq!(unused(&test(&home, &paths::real_plugin("travel"), &declined, &[])), ["filesystem \"write\""]);
}

#[test]
fn a_secret_is_used_by_a_request_that_names_it_and_needs_its_grant() {
    let home = Home::new();
    let requests = json!({"http": ["GET https://*"], "secrets": ["key", "spare"]});
    let fetcher = requesting(&home, "fetcher", requests);
    let transcript = |host: &str| {
        format!(
            "[grants]\nhttp = [{{ allow = \"GET https://example.com/\" }}]\nsecrets = [{{ name = \"key\", hosts = [\"{host}\"] }}]\n\
             [[call]]\ntool = \"run\"\narguments = {{ path = \"GET https://example.com/\\nX-Key: {{{{secret:key}}}}\", n = 0 }}\n\
             http = [{{ request = \"GET https://example.com/\", body = \"a page\" }}]\n"
        )
    };
    let ran = test(&home, &fetcher, &transcript("example.com"), &[]);
    ran.good();
    assert_eq!(unused(&ran), ["secrets \"spare\""], "{ran:?}");
    let ran = test(&home, &fetcher, &transcript("example.org"), &[]);
    assert!(ran.failed().contains("nobody asked for the answer to `GET https://example.com/`"), "{ran:?}");
}
