//! Which inputs of the threat matrix are tried, and by what. A threat is covered only when each of its inputs is.

use super::{GROUPS, threat};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;
use suite::paths;

const MATRIX: &str = include_str!("matrix.txt");

/// The text of all Rust files below a folder.
fn sources(folder: &Path) -> String {
    let text = |path: std::path::PathBuf| match path.extension().is_some_and(|it| it == "rs") {
        true => fs::read_to_string(&path).unwrap(),
        false if path.is_dir() => sources(&path),
        false => String::new(),
    };
    fs::read_dir(folder).unwrap().map(|entry| text(entry.unwrap().path())).collect()
}

#[test]
#[allow(clippy::print_stdout, reason = "the figure is for whoever wants to see it")]
fn every_threat_is_covered() {
    let tests = Command::new(std::env::current_exe().unwrap()).args(["--list", "--format", "terse"]).output().unwrap();
    let tests = String::from_utf8(tests.stdout).unwrap();
    let host = sources(&paths::root().join("host"));
    let mut rows = BTreeSet::new();
    for row in GROUPS.iter().flat_map(|(_, rows, _)| *rows) {
        assert!(!row.id.is_empty() && !row.outcome.is_empty());
        assert!(rows.insert(row.id), "{} stands there twice", row.id);
    }
    let is_there = |name: &str| match name.strip_prefix("unit ") {
        Some(test) => test.rsplit("::").next().is_some_and(|function| host.contains(&format!("fn {function}("))),
        None => rows.contains(name) || tests.lines().any(|line| line == format!("{name}: test")),
    };
    // By threat, whether each of its inputs is tried.
    let (mut covered, mut tried, mut open) = (BTreeMap::<&str, bool>::new(), 0, 0);
    for line in MATRIX.lines().filter(|line| !line.starts_with('#')) {
        let [id, input, proof] = line.split(" | ").collect::<Vec<_>>()[..] else { panic!("not three parts: {line}") };
        let is_tried = !proof.starts_with("open: ");
        if is_tried && !proof.starts_with("absent: ") {
            for name in proof.split(", ") {
                assert!(is_there(name), "{id}, {input}: {name} is neither a row nor a test");
            }
            tried += 1;
        } else if !is_tried {
            open += 1;
        }
        *covered.entry(id).or_insert(true) &= is_tried;
    }
    let threats: BTreeSet<_> = (1..=22).map(|n| format!("W{n}")).chain((1..=25).map(|n| format!("M{n}"))).collect();
    let missing: Vec<_> = threats.iter().filter(|id| !covered.contains_key(id.as_str())).collect();
    assert!(missing.is_empty(), "the matrix has no line for {missing:?}");
    let unknown: Vec<_> = rows.iter().filter(|row| !threats.contains(threat(row))).collect();
    assert!(unknown.is_empty() && covered.len() == threats.len(), "no threats: {unknown:?}");
    let whole = covered.values().filter(|all| **all).count();
    let parts: Vec<_> = covered.iter().filter(|(_, all)| !**all).map(|(id, _)| *id).collect();
    println!(
        "hostile: threats: {whole} with all inputs of the matrix, {} without some ({}); {tried} inputs tried, {open} open, {} rows",
        parts.len(),
        parts.join(" "),
        rows.len()
    );
}
