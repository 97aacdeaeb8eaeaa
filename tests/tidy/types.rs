//! Holds that no two types of the host have the same name.

use crate::{hold, host};
use std::collections::BTreeMap;
use suite::scan::without_tests;

/// The types of a file that other files can name, each with its line.
fn types(code: &str) -> impl Iterator<Item = (usize, &str)> {
    without_tests(code).lines().enumerate().filter_map(|(at, line)| {
        let visible = line.trim_start().strip_prefix("pub")?;
        // `pub(super)`, `pub(in crate::cli)`
        let visible = visible.strip_prefix('(').map_or(Some(visible), |rest| Some(rest.split_once(')')?.1))?;
        let (kind, rest) = visible.trim_start().split_once(' ')?;
        let is_type = ["struct", "enum", "trait", "type"].contains(&kind);
        is_type.then(|| (at + 1, rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or(rest)))
    })
}

/// Each name that several types have, with their places. What only tests compile is left out.
fn twins(files: &[(String, String)]) -> Vec<String> {
    let mut places: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (file, code) in files.iter().filter(|(file, _)| !file.ends_with("tests.rs") && !file.contains("/tests/")) {
        for (line, name) in types(code) {
            places.entry(name).or_default().push(format!("{file}:{line}"));
        }
    }
    places.retain(|_, places| places.len() > 1);
    places.into_iter().map(|(name, places)| format!("`{name}`: {}", places.join(", "))).collect()
}

#[test]
fn no_two_types_have_the_same_name() {
    hold("A reader knows a type by its name, so each has its own:", &twins(&host()));
}

#[test]
fn types_with_the_same_name_are_found() {
    let file = |name: &str, code: &str| (name.to_owned(), code.to_owned());
    let files = [
        file("mcp/a.rs", "pub struct Page<T> {\n}\nstruct Own;\npub(super) enum Other {}\n"),
        file(
            "mcp/b.rs",
            "    pub(in crate::cli) type Page = u8;\nstruct Own;\n#[cfg(test)]\nmod tests {\npub struct Other;\n",
        ),
        file("mcp/tests.rs", "pub struct Page;\n"),
    ];
    assert_eq!(twins(&files), ["`Page`: mcp/a.rs:1, mcp/b.rs:1"]);
}
