//! Rules are parsed strictly, and the first matching rule decides.

use super::*;
use crate::transcript::ChunkPolicy;
use policy::Origin;
use serde_json::Value;
use std::path::Path;

fn rules(text: &str) -> Rules {
    Rules::parse(text, "rules.toml", Path::new("/home")).unwrap()
}

fn own() -> Origin {
    Origin::Component("calendar".into())
}

fn refused(text: &str) -> String {
    Rules::parse(text, "rules.toml", Path::new("/home")).unwrap_err().to_string()
}

#[test]
fn without_a_rule_the_user_is_asked() {
    let none = Rules::default();
    for read_only in [false, true] {
        assert_eq!(none.tool("demo", "notes.add", read_only, &own()).rule, AgentRule::Ask);
    }
    assert_eq!(none.reaction("demo", "policy.effective").rule, AgentRule::Ask);
    assert_eq!((none.form("demo").rule, none.page("demo", "x.org").rule), (FormRule::Ask, PageRule::Ask));
    assert_eq!((none.sampling("demo").rule, none.chunks("demo")), (SamplingReview::Both, ChunkPolicy::UiOnly));
    assert!(!none.offers("demo", "other.read") && none.roots().is_empty());
    assert!(none.form("demo").source.contains("default"));
}

#[test]
fn the_first_matching_rule_decides_and_is_named() {
    let rules = rules(
        r#"
[[tool]]
server = "demo"
tool = "calendar.delete_*"
approval = "deny"
reason = "nothing is deleted"

[[tool]]
server = "demo"
tool = "calendar.*"
approval = "auto"

[[tool]]
tool = "notes.*"
approval = "once-per-task"

[[tool]]
server = "trusted-*"
approval = "allow"
"#,
    );
    let denied = rules.tool("demo", "calendar.delete_event", true, &own());
    assert_eq!(denied.rule, AgentRule::Deny("nothing is deleted".into()));
    assert_eq!(denied.source, "line 2 of rules.toml");
    // `auto` allows only tools that change nothing.
    assert_eq!(rules.tool("demo", "calendar.free_slots", true, &own()).rule, AgentRule::Allow);
    assert_eq!(rules.tool("demo", "calendar.create_event", false, &own()).rule, AgentRule::Ask);
    assert_eq!(rules.tool("demo", "calendar.create_event", false, &own()).source, "line 8 of rules.toml");
    assert_eq!(rules.tool("demo", "notes.add", false, &own()).rule, AgentRule::OncePerTask);
    assert_eq!(rules.tool("trusted-1", "anything", false, &own()).rule, AgentRule::Allow);
    assert_eq!(rules.tool("other", "anything", true, &own()).rule, AgentRule::Ask);
    assert_eq!(rules.count(), 4);
}

/// If a server states that its tools change nothing, that alone must not allow calls of them.
#[test]
fn what_other_servers_say_of_their_tools_counts_only_if_the_rule_says_so() {
    let rules = |more: &str| rules(&format!("[[tool]]\napproval = \"auto\"\n{more}"));
    let theirs = Origin::Upstream("mail".into());
    for other in [theirs.clone(), Origin::Client, Origin::Model, Origin::User] {
        assert_eq!(rules("").tool("demo", "mail.send_all", true, &other).rule, AgentRule::Ask, "{other:?}");
    }
    let trusting = rules("trust-hints = true");
    assert_eq!(trusting.tool("demo", "mail.list", true, &theirs).rule, AgentRule::Allow);
    assert_eq!(trusting.tool("demo", "mail.list", false, &theirs).rule, AgentRule::Ask);
    assert!(refused("[[tool]]\napproval = \"allow\"\ntrust-hints = true").contains("`trust-hints` goes with"));
}

#[test]
fn questions_have_rules_of_their_own() {
    let rules = rules(
        r#"
[[form]]
server = "demo"
do = "answer"
answer = { confirm = true, count = 3 }

[[form]]
do = "decline"

[[page]]
server = "demo"
do = "ask"
hosts = ["*.example.com"]

[[sampling]]
review = "after"

[[chunks]]
server = "demo"
policy = "inject"

[[offer]]
server = "demo"
tool = "files.read_*"

[[reaction]]
event = "policy.*"
approval = "allow"

[roots]
folders = ["src", "/abs"]
"#,
    );
    let FormRule::Answer(values) = rules.form("demo").rule else { panic!("no answer") };
    assert_eq!((&values["confirm"], &values["count"]), (&Value::from(true), &Value::from(3)));
    assert_eq!(rules.form("other").rule, FormRule::Decline);
    assert_eq!(rules.page("demo", "login.example.com").rule, PageRule::Ask);
    assert_eq!(rules.page("demo", "login.example.com.evil.org").rule, PageRule::Decline);
    assert_eq!(rules.page("other", "evil.org").rule, PageRule::Ask, "no rule speaks of that server");
    assert_eq!(rules.sampling("demo").rule, SamplingReview::After);
    assert_eq!((rules.chunks("demo"), rules.chunks("other")), (ChunkPolicy::Inject, ChunkPolicy::UiOnly));
    assert!(rules.offers("demo", "files.read_text") && !rules.offers("demo", "files.write"));
    assert!(!rules.offers("other", "files.read_text"));
    assert_eq!(rules.reaction("demo", "policy.effective").rule, AgentRule::Allow);
    assert_eq!(rules.roots(), [Path::new("/home/src"), Path::new("/abs")]);
}

#[test]
fn errors_name_the_line() {
    for (text, expected) in [
        ("[[tool]]\napproval = \"maybe\"\n", "line 2"),
        ("\n[[tool]]\napproval = \"ask\"\nserve = \"x\"\n", "line 4"),
        ("[[tools]]\n", "line 1"),
        ("\n\n[[tool]]\napproval = \"ask\"\nreason = \"x\"\n", "line 3"),
        ("[[tool]]\n", "approval"),
        ("[[tool]]\ntool = \"[\"\napproval = \"ask\"\n", "line 2"),
        ("[[form]]\ndo = \"answer\"\n", "answer = {"),
        ("[[page]]\ndo = \"ask\"\nhosts = [\"*\"]\n", "line 3"),
        ("[[reaction]]\napproval = \"auto\"\n", "line 1"),
        ("[[offer]]\nserver = \"*\"\n", "tool"),
    ] {
        let error = refused(text);
        assert!(error.contains(expected) && error.contains("rules.toml"), "{text}: {error}");
    }
}
