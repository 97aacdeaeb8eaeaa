//! Adding and removing grants, and what stays unchanged.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use super::*;
use toml_edit::{DocumentMut, TableLike};

fn grants(text: &str) -> DocumentMut {
    text.parse().unwrap()
}

fn granted(text: &str, line: &str) -> String {
    let mut document = grants(text);
    GrantLine::parse(line).unwrap().add_to_grants(document.as_table_mut());
    document.to_string()
}

fn revoked(text: &str, line: &str) -> String {
    let mut document = grants(text);
    GrantLine::parse_or_key(line).unwrap().remove_from_grants(document.as_table_mut());
    document.to_string()
}

#[test]
fn existing_entries_keep_their_layout() {
    let text = "# mine\nagent-tools = [ # these\n    \"a.b\",   # this one\n    \"c.d\",\n]\npublish  =  true\n";
    let with = text.replace("\"c.d\",\n", "\"c.d\",\n    \"e.f\",\n");
    let with = with.as_str();
    assert_eq!(granted(text, r#"agent-tools = ["a.b", "e.f"]"#), with);
    assert_eq!(granted(with, r#"agent-tools = ["e.f"]"#), with);
    assert_eq!(revoked(with, r#"agent-tools = ["e.f"]"#), text);
    for commented in ["events = [\n    \"a.b\", # one\n]\n", "events = [\n    \"a.b\", # one\n    \"c.d\", # two\n]\n"]
    {
        let with = granted(commented, r#"events = ["e.f"]"#);
        assert_eq!(with, commented.replace("\n]", "\n    \"e.f\",\n]"));
        assert_eq!(revoked(&with, r#"events = ["e.f"]"#), commented);
    }
    assert_eq!(
        granted("events = [\n  \"a.b\" # one\n]\n", r#"events = ["e.f"]"#),
        "events = [\n  \"a.b\", # one\n  \"e.f\"\n]\n"
    );
    assert_eq!(granted("", "publish = true"), "publish = true\n");
    assert_eq!(granted("events = [\"a.b\"]\n", r#"events = ["c.d"]"#), "events = [\"a.b\", \"c.d\"]\n");
}

#[test]
fn entries_with_the_same_identity_are_merged() {
    let read = r#"filesystem = [{ host = ".", guest = "/src", access = "read" }]"#;
    let write = read.replace("read", "write");
    assert_eq!(granted(&format!("{read}\n"), &write), format!("{write}\n"));
    let http = "http = [{ allow = \"https://a.example\", private = false }]\n";
    let more =
        granted(http, r#"http = [{ allow = "https://a.example", requests = 5 }, { allow = "https://b.example" }]"#);
    let expected =
        r#"http = [{ allow = "https://a.example", private = false, requests = 5 }, { allow = "https://b.example" }]"#;
    assert_eq!(more.trim(), expected);
    let secret = "secrets = [{ name = \"s\", hosts = [\"a.example\"] }]\n";
    let changed = granted(secret, r#"secrets = [{ name = "s", hosts = ["b.example"] }]"#);
    assert_eq!(changed, "secrets = [{ name = \"s\", hosts = [\"a.example\", \"b.example\"] }]\n");
    assert_eq!(revoked(&changed, r#"secrets = [{ name = "s", hosts = ["b.example"] }]"#), secret);
    assert_eq!(revoked(secret, r#"secrets = [{ name = "s" }]"#), "");
    let tables = "[[http]]\nallow = \"https://a.example\"\n";
    let more = granted(tables, r#"http = [{ allow = "https://b.example" }]"#);
    assert_eq!(more, format!("{tables}\n[[http]]\nallow = \"https://b.example\"\n"));
    assert_eq!(revoked(&more, r#"http = [{ allow = "https://b.example" }]"#), tables);
}

#[test]
fn all_forms_of_tables_are_equivalent() {
    for form in ["client.form = true\n", "client = { form = true }\n", "[client]\nform = true\n"] {
        let both: toml::Table = granted(form, r#"client.url = ["a.example"]"#).parse().unwrap();
        assert_eq!(both["client"]["url"][0].as_str(), Some("a.example"), "{form}");
        assert_eq!(both["client"]["form"].as_bool(), Some(true), "{form}");
        for gone in ["client", "client.form", "client.form = true"] {
            let rest: toml::Table = revoked(form, gone).parse().unwrap();
            assert!(rest.is_empty(), "{form} {gone}");
        }
    }
    assert_eq!(granted("state = { keys = 5 }\n", "state = {}"), "state = { keys = 5 }\n");
    assert_eq!(revoked("state = { keys = 5 }\n", "state = {}"), "");
    assert_eq!(revoked("publish = true\n", "events"), "publish = true\n");
}

#[test]
fn limits_are_added_and_removed_beside_grants() {
    let mut document = grants("[plugins.a]\nsource = \"a\"\n\n[plugins.b]\nsource = \"b\"\n");
    let plugin = |document: &mut DocumentMut, act: &dyn Fn(&mut dyn TableLike)| {
        act(document["plugins"]["a"].as_table_like_mut().unwrap());
    };
    for line in ["limits = { fuel = 5 }", "limits.cpu = \"1s\"", "publish = true"] {
        plugin(&mut document, &|table| GrantLine::parse(line).unwrap().add_to(table).unwrap());
    }
    let expected = "[plugins.a]\nsource = \"a\"\n\n[plugins.a.limits]\nfuel = 5\ncpu = \"1s\"\n\n[plugins.a.grants]\npublish = true\n\n[plugins.b]\nsource = \"b\"\n";
    assert_eq!(document.to_string(), expected);
    plugin(&mut document, &|table| GrantLine::parse_or_key("limits.fuel").unwrap().remove_from(table));
    assert!(!document.to_string().contains("fuel") && document.to_string().contains("cpu"));
    plugin(&mut document, &|table| GrantLine::parse_or_key("limits").unwrap().remove_from(table));
    assert!(!document.to_string().contains("limits"));
    for (bad, why) in [
        ("limits = 5", "is a table"),
        ("limits.memory = \"2 GiB\"", "outside"),
        ("limits.gas = 5", "gas"),
        ("network = true", "network"),
        ("state = { size = \"1 TiB\" }", "outside"),
    ] {
        let error = GrantLine::parse(bad).and_then(|line| line.check()).unwrap_err();
        assert!(error.contains(why), "{bad}: {error}");
    }
}

#[test]
fn invalid_lines_are_refused() {
    for (bad, why) in [
        ("", "it is empty"),
        ("publish", "not a line of TOML"),
        ("a = 1\nb = 2", "one line"),
        (r#"filesystem = [{ host = "<directory>", guest = "/x", access = "read" }]"#, "<directory>"),
    ] {
        assert!(GrantLine::parse(bad).err().unwrap().contains(why), "{bad}");
    }
}
