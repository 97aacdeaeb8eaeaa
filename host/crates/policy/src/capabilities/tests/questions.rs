//! Questions, their answers, and the remedies of denials.

use crate::capabilities::uses::*;
use crate::capabilities::*;
use crate::{ASK_THE_USER, Authority, PluginId, Side};

const REQUESTS: &str = r#"
    filesystem = "write"
    agent-tools = ["notes.*"]
    client = { form = true, url = true, sample = true, roots = true }
    publish = true
    events = ["policy.*"]
    connections = ["github"]
    http = ["GET,POST https://*"]
    secrets = ["token"]
    env = ["TZ"]
    state = true
    scratch = true
"#;
const GRANTS: &str = r#"
    filesystem = [{ host = "a", guest = "/a", access = "read" }, { host = "b", guest = "/a/b", access = "write" }]
    agent-tools = ["notes.find", "notes.a*"]
    client = { form = true, url = ["x.example"], sample = {}, roots = true }
    publish = true
    events = ["policy.effective"]
    connections = ["github"]
    http = [{ allow = "https://a.example/v1/" }, { allow = "POST https://a.example" }]
    secrets = [{ name = "token", hosts = ["b.example"] }, { name = "token", hosts = ["a.example"] }]
    env = ["TZ"]
    state = {}
    scratch = {}
    flows = ["client -> connections.*"]
"#;

#[test]
fn every_question_has_an_answer_and_its_entry() {
    let (requests, grants): (Requests, Grants) = (toml::from_str(REQUESTS).unwrap(), toml::from_str(GRANTS).unwrap());
    let plugin = || PluginId { side: Side::Server, name: "p".into() };
    let (all, none) = (Authority::new(plugin(), &requests, &grants), Authority::none(plugin()));
    let mut keys = std::collections::BTreeSet::new();
    for (question, entry) in [
        ("filesystem read /a/x", Some(0)),
        ("filesystem write /a/c/../b/x", Some(1)),
        ("agent-tools notes.add", Some(1)),
        ("client.form", None),
        ("client.url x.example", Some(0)),
        ("client.sample", None),
        ("client.roots", None),
        ("publish", None),
        ("events policy.effective", Some(0)),
        ("connections github", Some(0)),
        ("http get https://A.example:443/v1/../v1/x?q=1", Some(0)),
        ("http POST https://a.example/v2", Some(1)),
        ("secrets token a.example", Some(1)),
        ("env TZ", Some(0)),
        ("state", None),
        ("scratch", None),
        ("flows client -> connections.github", Some(0)),
    ] {
        let capability = Capability::parse(question).unwrap();
        keys.insert(capability.key());
        assert!(all.decide(&capability).is_ok(), "{question}");
        assert!(none.decide(&capability).is_err(), "{question}");
        assert_eq!(grants.entry(&capability), entry, "{question}");
    }
    assert_eq!(keys.len(), 15);
    for question in [
        "filesystem write /a/x",
        "filesystem read /a/../etc",
        "agent-tools notes.remove",
        "client.url y.example",
        "http GET https://a.example/v2",
        "http DELETE https://a.example/v1/",
        "http GET http://a.example/v1/",
        "secrets token c.example",
        "flows upstream.x -> host-model",
    ] {
        assert!(all.decide(&Capability::parse(question).unwrap()).is_err(), "{question}");
    }
}

#[test]
fn what_is_no_question_is_said() {
    for bad in [
        "",
        "http",
        "http GET",
        "http GET x",
        "http GET ftp://a",
        "http GET https://u:p@a",
        "filesystem all /",
        "flows a -> b",
        "flows client",
        "publish now",
        "network",
    ] {
        assert!(Capability::parse(bad).is_err(), "{bad}");
    }
}

fn files() -> PluginId {
    PluginId { side: Side::Server, name: "files".into() }
}

#[test]
fn names_the_grant_and_the_line() {
    let denial = AgentToolUse { tool: "notes.add".into() }.not_granted(&files());
    assert_eq!(
        denial.for_operator(),
        "denied: agent-tools `notes.add` is not granted. To allow it: portcullis grant files 'agent-tools = [\"notes.add\"]'"
    );
    assert_eq!(denial.to_string(), format!("denied: agent-tools `notes.add` is not granted. {ASK_THE_USER}"));
    let path = FilesystemUse { path: "/etc/passwd".into(), access: Access::Read };
    assert!(
        path.not_granted(&files())
            .for_operator()
            .ends_with("'filesystem = [{ host = \"<directory>\", guest = \"/etc\", access = \"read\" }]'")
    );
}

/// The text between the outer quotes must be one shell word and one line of TOML.
#[test]
fn a_guest_cannot_write_the_remedy() {
    for evil in ["x'; rm -rf ~ #", "x\" }]\nevil = true", "$(id)", "`id`", "a' b", "\u{202e}x", "\\", "x\r"] {
        let (path, name) = (format!("/{evil}"), evil.to_owned());
        for denial in [
            FilesystemUse { path, access: Access::Write }.not_granted(&files()),
            AgentToolUse { tool: name.clone() }.not_granted(&files()),
            UrlUse { host: name.clone() }.not_granted(&files()),
            EventUse { name: name.clone() }.not_granted(&files()),
            ConnectionUse { name: name.clone() }.not_granted(&files()),
            HttpUse { request: format!("GET https://{evil}/") }.not_granted(&files()),
            SecretUse { name: name.clone(), host: name.clone() }.not_granted(&files()),
            EnvUse { name: name.clone() }.not_granted(&files()),
            FlowUse { flow: format!("client -> agent.{evil}") }.not_granted(&files()),
        ] {
            let remedy = denial.remedy;
            let line = remedy.strip_prefix("To allow it: portcullis grant files '").unwrap();
            let line = line.strip_suffix('\'').unwrap();
            assert!(!line.contains(['\'', '\n', '\r', '\\', '$', '`', '\u{202e}']), "{remedy}");
            assert!(line.contains('<') && line.parse::<toml::Table>().is_ok(), "{remedy}");
        }
    }
}

#[test]
fn an_operators_own_path_stays_one_word() {
    let requests: Requests = toml::from_str("filesystem = 'write'").unwrap();
    let mut grants: Grants = toml::from_str("filesystem = [{ host = '.', guest = '/x', access = 'read' }]").unwrap();
    grants.filesystem[0].guest = "/it's \"here\"".to_owned();
    let authority = Authority::new(files(), &requests, &grants);
    let remedy = authority.path_refused("/it's \"here\"/x", Access::Write).remedy;
    assert!(remedy.contains(r#"guest = "/it'\''s \"here\"""#), "{remedy}");
}
