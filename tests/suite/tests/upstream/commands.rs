//! `portcullis upstream`, and `call` of a tool of a server.

use std::fs;
use suite::{Home, paths, plugin, portcullis};

/// The words of a server of this kind.
fn server(kind: &str) -> Vec<String> {
    let script = paths::root().join("tests/suite/tests/upstream/server.py");
    vec![paths::python().display().to_string(), "-B".into(), script.display().to_string(), kind.into()]
}

fn add(home: &Home, options: &[&str], name: &str, words: &[String]) -> suite::cli::Ran {
    let words = words.iter().map(String::as_str);
    portcullis(
        home,
        &["upstream", "add"].into_iter().chain(options.iter().copied()).chain([name]).chain(words).collect::<Vec<_>>(),
    )
}

#[test]
fn servers_are_added_listed_tested_called_and_removed() {
    let home = Home::new();
    let file = home.write("portcullis.toml", plugin("echo", ""));
    let before = fs::read_to_string(&file).unwrap();
    // What cannot be connected is not added.
    let refused = add(&home, &[], "none", &["/no/such/program".to_owned()]);
    assert!(refused.failed().contains("upstream.none") && refused.stderr.contains("It was not added"), "{refused:?}");
    assert!(add(&home, &[], "far", &["http://example.com/".to_owned()]).refused().contains("https"));
    assert!(add(&home, &["--env", "x"], "far", &server("good")).stderr.contains("NAME=VALUE"));
    assert_eq!(fs::read_to_string(&file).unwrap(), before);

    let added = add(&home, &["--env", "KEY=value"], "near", &server("good"));
    assert!(added.good().contains("  run\n") && added.stdout.contains("[upstream.near] is added"), "{added:?}");
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.starts_with(before.trim_end()) && text.contains("[upstream.near]\ncommand = ["), "{text}");
    assert!(text.contains("env = { KEY = \"value\" }"), "{text}");
    assert!(add(&home, &[], "near", &server("good")).refused().contains("[upstream.near] already"));
    add(&home, &["--untested"], "none", &["/no/such/program".to_owned()]).good();
    let listed = portcullis(&home, &["upstream", "list"]);
    assert_eq!(
        listed.good().lines().map(|line| line.split(' ').next().unwrap()).collect::<Vec<_>>(),
        ["upstream.near", "upstream.none"]
    );
    let tested = portcullis(&home, &["upstream", "test"]);
    assert!(tested.failed().contains("connected") && tested.stderr.contains("[upstream.none]"), "{tested:?}");
    assert!(portcullis(&home, &["upstream", "test", "near"]).good().contains("  run\n"));
    assert!(portcullis(&home, &["upstream", "test", "other"]).refused().contains("there are: near, none"));

    // Both names are right, and nothing else is started.
    for called in [&["near", "run"][..], &["near__run"]] {
        let called = portcullis(&home, &[&["call"], called].concat());
        assert!(!called.good().is_empty() && !called.stderr.contains("none"), "{called:?}");
    }
    let unknown = portcullis(&home, &["call", "near", "other"]);
    assert!(unknown.refused().contains("`near`: no tool `other`; it has: run"), "{unknown:?}");
    let gone = portcullis(&home, &["call", "none", "run"]);
    assert!(gone.refused().contains("the server `none` is not connected"), "{gone:?}");
    let recorded = portcullis(&home, &["call", "near", "run", "--record", "calls.toml"]);
    assert!(recorded.refused().contains("its calls are not recorded"), "{recorded:?}");
    let nobody = portcullis(&home, &["call", "nobody", "run"]);
    assert!(nobody.refused().contains("there are: echo, near, none"), "{nobody:?}");

    for name in ["near", "none"] {
        assert!(portcullis(&home, &["upstream", "remove", name]).refused().contains("--yes"));
        portcullis(&home, &["upstream", "remove", name, "--yes"]).good();
    }
    assert_eq!(fs::read_to_string(&file).unwrap().trim(), before.trim());
    assert!(portcullis(&home, &["upstream", "remove", "near", "--yes"]).refused().contains("has no [upstream.near]"));
}
