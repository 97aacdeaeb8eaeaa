//! All ways through the research, on the fake host.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::path::Path;

use portcullis_guest::client::{ClientError, SampleContent, ToolChoice, ToolUse};
use portcullis_guest::testing::{AskedQuestion, Host, SampleRequest};
use portcullis_guest::{Content, ToolError};
use serde_json::{Value, json};

use crate::research::PLUGIN;

fn library() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/library"))
}

fn host() -> Host {
    Host::new().folder(library())
}

fn research(host: &Host, arguments: Value) -> Result<String, ToolError> {
    host.call(&PLUGIN, "research_agent", arguments).map(|result| result.all_text())
}

fn requests(host: &Host) -> Vec<SampleRequest> {
    let request = |asked: &portcullis_guest::testing::Asked| match &asked.question {
        AskedQuestion::Sample(request) => request.clone(),
        other => panic!("{other:?}"),
    };
    host.asked().iter().map(request).collect()
}

fn wants(term: &str) -> SampleContent {
    let input = json!({ "term": term }).to_string();
    SampleContent::ToolUse(ToolUse { id: term.into(), name: "lookup".into(), input })
}

/// What the model was told last, and whether it was told of a failure.
fn outcome(request: &SampleRequest) -> (String, bool) {
    match &request.messages.last().unwrap().content[0] {
        SampleContent::ToolResult(outcome) => {
            (outcome.content.iter().filter_map(Content::as_text).collect(), outcome.is_error)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_report_has_findings_passages_and_sources() {
    let host = host().sample(" It fell fast.\n");
    let report = research(&host, json!({ "topic": "portcullis iron" })).unwrap();
    assert!(report.starts_with("# portcullis iron\n\n## Key findings\n\nIt fell fast.\n\n## Passages\n\n"), "{report}");
    assert!(report.contains("- A portcullis is a grating of oak and iron"), "{report}");
    assert!(report.ends_with("## Sources\n\n- gatehouse.txt\n- moat.txt\n- siege.md\n"), "{report}");
    let steps: Vec<_> = host.progress().into_iter().map(|step| (step.done, step.message.unwrap())).collect();
    let expected = ["gather", "analyse", "summarise", "finalise"];
    assert_eq!(steps.iter().map(|(_, what)| what.as_str()).collect::<Vec<_>>(), expected);
    assert!(steps.iter().zip(0_u8..).all(|((done, _), n)| *done == f64::from(n)), "{steps:?}");
    let [request] = &requests(&host)[..] else { panic!("one request") };
    assert_eq!((request.max_tokens, request.tools.len()), (100, 0));
    assert_eq!(request.purpose.as_deref(), Some("key findings about portcullis iron"));
    assert!(host.asked()[0].message().contains("[siege.md] Fire was used"), "{}", host.asked()[0].message());
}

#[test]
fn the_best_passages_come_first_and_headings_are_none() {
    let report = research(&host(), json!({ "topic": "the moat and its drawbridge" })).unwrap();
    let first = report.lines().find(|line| line.starts_with("- ")).unwrap();
    assert!(first.starts_with("- A drawbridge made the moat passable"), "{report}");
    assert!(!report.contains("- The moat\n"), "{report}");
}

#[test]
fn without_a_model_the_report_says_so() {
    let report = research(&host(), json!({ "topic": "moat", "tools": true })).unwrap();
    assert!(
        report.contains("(no summary: this client has no model to ask)") && report.contains("- moat.txt"),
        "{report}"
    );
}

#[test]
fn a_reviewers_no_leaves_no_report() {
    for tools in [false, true] {
        let host = host().samples(|_| Err(ClientError::Declined("not this one".into())));
        let error = research(&host, json!({ "topic": "moat", "tools": tools })).unwrap_err();
        assert_eq!(error, ToolError::failed("the client's side declined the question: not this one"));
        assert_eq!(host.progress().len(), 3, "it never came to the report");
    }
    let host = host().sample("x").deny("client.sample");
    assert!(matches!(research(&host, json!({ "topic": "moat" })), Err(ToolError::Denied(_))));
}

#[test]
fn a_model_looks_things_up() {
    let host = host().sample(wants("drawbridge")).sample(wants("granary")).sample("Bread decides.");
    let report = research(&host, json!({ "topic": "sieges", "tools": true })).unwrap();
    assert!(report.contains("## Key findings\n\nBread decides.\n"), "{report}");
    let requests = requests(&host);
    let choices: Vec<_> = requests.iter().map(|request| request.tool_choice).collect();
    assert_eq!(choices, [Some(ToolChoice::Auto), Some(ToolChoice::Auto), Some(ToolChoice::None)]);
    assert!(requests.iter().all(|request| request.tools[0].name == "lookup" && request.max_tokens == 100));
    assert!(outcome(&requests[1]).0.starts_with("[moat.txt] A drawbridge"));
    assert!(outcome(&requests[2]).0.starts_with("[siege.md] Most sieges"));
    let keys: Vec<_> = host.asked().into_iter().filter_map(|asked| asked.key).collect();
    assert_eq!(keys, ["key_findings_1", "key_findings_2", "key_findings_3"]);
}

#[test]
fn a_model_may_answer_early_and_must_answer_at_last() {
    let host = host().sample("At once.");
    assert!(research(&host, json!({ "topic": "moat", "tools": true })).unwrap().contains("At once."));
    assert_eq!(requests(&host).len(), 1);
    drop(host);
    let host = self::host().samples(|_| Ok(wants("moat").into()));
    assert!(matches!(research(&host, json!({ "topic": "moat", "tools": true })), Err(ToolError::Failed(_))));
    assert_eq!(requests(&host).len(), 3);
}

#[test]
fn a_models_mistakes_are_told_to_it() {
    let odd = |name: &str, input: &str| {
        SampleContent::ToolUse(ToolUse { id: "1".into(), name: name.into(), input: input.into() })
    };
    for (wrong, said, failed) in [
        (odd("delete", "{}"), "there is no tool `delete`, only `lookup`", true),
        (odd("lookup", r#"{"word":"x"}"#), "missing field `term`", true),
        (wants("zeppelin"), "Nothing in the library is about zeppelin.", false),
    ] {
        let host = host().sample(wrong).sample("Well.");
        research(&host, json!({ "topic": "moat", "tools": true })).unwrap();
        let (text, is_error) = outcome(&requests(&host)[1]);
        assert!(text.contains(said) && is_error == failed, "{text}");
    }
}

#[test]
fn nothing_found_asks_nobody() {
    let host = host().sample("x");
    assert_eq!(research(&host, json!({ "topic": "zeppelins" })).unwrap(), "Nothing in the library is about zeppelins.");
    assert!(host.asked().is_empty());
    let denied = research(&Host::new(), json!({ "topic": "moat" })).unwrap_err();
    assert!(matches!(denied, ToolError::Denied(denial) if denial.target == "/library"));
}

#[test]
fn long_and_odd_libraries_are_bounded() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.txt"), format!("moat {}.", "é".repeat(2_000))).unwrap();
    fs::write(folder.path().join("b.txt"), b"A moat \xff in Latin.\n").unwrap();
    fs::write(folder.path().join("c.txt"), vec![b'm'; 5 * 1024 * 1024]).unwrap();
    fs::write(folder.path().join("d.bin"), "A moat in a binary.").unwrap();
    fs::create_dir(folder.path().join("e.txt")).unwrap();
    let host = Host::new().folder(folder.path());
    let report = research(&host, json!({ "topic": "moat" })).unwrap();
    assert!(report.contains("A moat \u{fffd} in Latin.") && !report.contains("binary"), "{report}");
    assert_eq!(host.log().len(), 2, "a file too many and a folder are left out");
}
