//! The versions of a plugin in a registry: which one an update finds, and how another one is chosen.

use crate::install::{CONFIG, rewritten};
use crate::reload::edition;
use serde_json::json;
use std::fs;
use suite::registry::Registry;
use suite::web::Reply;
use suite::{Home, Ran, portcullis};

struct Publisher {
    registry: Registry,
    home: Home,
}

impl Publisher {
    /// With version 0.1.0, which is installed.
    fn new() -> Self {
        let publisher = Self { registry: Registry::default(), home: Home::new() };
        publisher.home.write("portcullis.toml", CONFIG);
        publisher.publish("AAAA", "0.1.0", "0.1.0");
        publisher.plugin(&["install", &publisher.reference("0.1.0"), "--yes"]).good();
        publisher
    }

    fn reference(&self, tag: &str) -> String {
        self.registry.reference(&format!("acme/edition:{tag}"))
    }

    fn publish(&self, letters: &str, version: &str, tag: &str) {
        let bytes = match version {
            "0.1.0" => edition(letters),
            other => rewritten(edition(letters), r#""version":"0.1.0""#, &format!("\"version\":{other:?}")),
        };
        self.registry.publish("acme/edition", tag, &self.registry.manifest(&bytes));
    }

    fn plugin(&self, arguments: &[&str]) -> Ran {
        portcullis(&self.home, &[&["plugin"], arguments].concat())
    }

    fn accept(&self) {
        self.plugin(&["accept", "edition", "--yes"]).good();
    }

    fn installed(&self) -> (String, String) {
        let lock = fs::read_to_string(self.home.path().join("portcullis.lock")).unwrap();
        let reference = lock.lines().find_map(|line| line.strip_prefix("reference = ")).unwrap();
        let tag = reference.trim_matches('"').rsplit_once(':').unwrap().1.to_owned();
        (tag, portcullis(&self.home, &["call", "edition", "run"]).good().trim().to_owned())
    }
}

fn pair(tag: &str, said: &str) -> (String, String) {
    (tag.to_owned(), said.to_owned())
}

#[test]
fn an_update_finds_the_highest_release() {
    let publisher = Publisher::new();
    assert!(publisher.plugin(&["outdated"]).good().contains("All 1 installed plugins are the newest versions."));
    publisher.publish("BAAA", "0.1.1", "0.1.1");
    publisher.publish("CAAA", "0.1.9", "0.1.9");
    publisher.publish("DAAA", "0.2.0", "0.2.0-rc.1");
    publisher.publish("EAAA", "0.9.0", "latest");
    let outdated = publisher.plugin(&["outdated"]);
    let row: Vec<_> = outdated.good().lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!(row, ["plugins.edition", "0.1.0", "0.1.9", "-"]);
    let updated = publisher.plugin(&["update"]);
    assert!(updated.good().contains("[plugins.edition] 0.1.9 is staged until you accept it"), "{updated:?}");
    assert_eq!(publisher.installed(), pair("0.1.0", "edition=A"), "until then nothing changes");
    let row = publisher.plugin(&["outdated"]);
    assert!(row.good().lines().nth(1).unwrap().ends_with("0.1.9"), "it is staged: {row:?}");
    publisher.accept();
    assert_eq!(publisher.installed(), pair("0.1.9", "edition=C"));
    assert!(publisher.plugin(&["update"]).good().contains("is up to date"));
    assert!(publisher.plugin(&["outdated"]).good().contains("are the newest versions"));

    publisher.plugin(&["rollback", "edition"]).good();
    assert_eq!(publisher.installed(), pair("0.1.0", "edition=A"), "with the reference that it had");
}

#[test]
fn another_version_is_chosen_by_its_tag() {
    let publisher = Publisher::new();
    publisher.publish("BAAA", "0.1.1", "0.1.1");
    publisher.publish("DAAA", "0.2.0", "0.2.0-rc.1");
    publisher.publish("EAAA", "0.2.1", "0.2.1-rc.1");
    let again = publisher.plugin(&["install", &publisher.reference("0.1.1"), "--yes"]);
    assert!(
        again.refused().contains("`portcullis plugin update edition --to 0.1.1` installs this version"),
        "{again:?}"
    );
    assert!(publisher.plugin(&["update", "--to", "0.1.1"]).refused().contains("name the plugin"));
    assert!(publisher.plugin(&["update", "edition", "--to", "7.0.0"]).refused().contains("manifest `7.0.0`"));
    assert!(publisher.plugin(&["update", "edition", "--to", "a b"]).refused().contains("is not a tag"));
    publisher.plugin(&["update", "edition", "--to", "0.2.0-rc.1"]).good();
    publisher.accept();
    assert_eq!(publisher.installed(), pair("0.2.0-rc.1", "edition=D"));
    // Whoever has a pre-release is offered the next one.
    publisher.plugin(&["update"]).good();
    publisher.accept();
    assert_eq!(publisher.installed(), pair("0.2.1-rc.1", "edition=E"));
    let lower = publisher.plugin(&["update", "edition", "--to", "0.1.1"]);
    assert!(lower.refused().contains("--allow-downgrade"), "{lower:?}");
    publisher.plugin(&["update", "edition", "--to", "0.1.1", "--allow-downgrade"]).good();
    publisher.accept();
    assert_eq!(publisher.installed(), pair("0.1.1", "edition=B"));
}

#[test]
fn a_list_of_tags_that_is_missing_or_false_stops_nothing() {
    let publisher = Publisher::new();
    publisher.publish("BAAA", "0.1.1", "0.1.1");
    for status in [404, 401, 403] {
        publisher.registry.lie(move |seen| seen.path().contains("/tags/").then(|| Reply::new(status, "")));
        let unlisted = publisher.plugin(&["update"]);
        assert!(unlisted.good().contains("is unchanged; its registry does not list tags: --to names"), "{unlisted:?}");
    }
    assert!(publisher.plugin(&["outdated"]).stderr.contains("does not list tags"));
    for (list, words) in [
        (json!({"tags": null}), "up to date"),
        (json!({"tags": ["../../x", "9.9.9/../..", "\u{1b}[2J"]}), "up to date"),
        (json!({"tags": 1}), "the list of tags is not one"),
        (json!(vec!["x"; 400_000]), "is larger than"),
    ] {
        publisher.registry.lie(move |seen| seen.path().contains("/tags/").then(|| Reply::json(list.clone())));
        let ran = publisher.plugin(&["update"]);
        assert!(ran.stdout.contains(words) || ran.stderr.contains(words), "{words}: {ran:?}");
    }
    // One page after the other for ever, and one at somebody else.
    for next in [
        "</v2/y>; rel=\"prev\", </v2/acme/edition/tags/list?last=x>; rel=\"next\"",
        "<http://127.0.0.2:1/v2/x>; rel=\"next\"",
    ] {
        let page = move || Reply::json(json!({"tags": ["0.1.1"]})).with("Link", next);
        publisher.registry.lie(move |seen| seen.path().contains("/tags/").then(page));
        assert!(publisher.plugin(&["outdated"]).good().contains("0.1.1"));
    }
    assert_eq!(publisher.installed(), pair("0.1.0", "edition=A"));
}

#[test]
fn what_is_pinned_by_digest_says_so() {
    let publisher = Publisher { registry: Registry::default(), home: Home::new() };
    publisher.home.write("portcullis.toml", CONFIG);
    let manifest = publisher.registry.manifest(&edition("AAAA"));
    let digest = publisher.registry.publish("acme/edition", "0.1.0", &manifest);
    let reference = publisher.registry.reference(&format!("acme/edition@{digest}"));
    publisher.plugin(&["install", &reference, "--yes"]).good();
    publisher.publish("BAAA", "0.1.1", "0.1.1");
    assert!(publisher.plugin(&["update"]).good().contains("it is pinned by digest: --to names another version"));
    publisher.plugin(&["update", "edition", "--to", "0.1.0"]).good();
    assert_eq!(publisher.installed(), pair("0.1.0", "edition=A"), "the same bytes under a name");
    publisher.plugin(&["update"]).good();
    publisher.accept();
    assert_eq!(publisher.installed(), pair("0.1.1", "edition=B"));
    // A version that waits keeps its name while another one is gone back to.
    publisher.publish("CAAA", "0.1.2", "0.1.1");
    publisher.plugin(&["update"]).good();
    publisher.plugin(&["rollback", "edition"]).good();
    assert_eq!(publisher.installed(), pair("0.1.0", "edition=A"));
    let row = publisher.plugin(&["outdated"]);
    assert!(row.good().lines().nth(1).unwrap().ends_with("0.1.1"), "{row:?}");
    publisher.accept();
    assert_eq!(publisher.installed(), pair("0.1.1", "edition=C"));
}
