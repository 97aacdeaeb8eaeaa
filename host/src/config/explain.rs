//! Explains errors of TOML and serde, and suggests what to write instead, from the example file, which has every key.

use super::EXAMPLE;
use toml::de::Error;

/// Similarity from which on an unknown key is taken for a known one that is misspelt.
const ALIKE: f64 = 0.8;
/// Tables whose second part is a name that the user gives.
const NAMED: [&str; 6] = ["plugins", "agent", "connections", "secrets", "upstream", "sources"];
/// What serde calls things, and what people call them.
const WORDS: [(&str, &str); 9] = [
    ("expected a sequence", "expected a list"),
    ("expected a map", "expected a table"),
    ("expected parsable string", "expected a size"),
    ("expected path string", "expected a path in quotes"),
    ("expected a nonzero u32", "expected a whole number above 0"),
    ("expected usize", "expected a whole number"),
    ("expected u64", "expected a whole number"),
    ("expected u32", "expected a whole number"),
    ("expected u16", "expected a whole number"),
];

/// The error with its place, and what to write instead, if that is known.
pub(super) fn explain(error: &Error, text: &str) -> String {
    let (whole, message) = (error.to_string(), error.message());
    let place = whole.trim_end().strip_suffix(message).unwrap_or_default();
    let explained = format!("{place}{}", in_plain_words(message));
    match advice(error, text, "") {
        Some(advice) => format!("{explained}\n{advice}"),
        None => explained,
    }
}

/// The same for one line of a table, without the place of the error.
pub(super) fn explain_line(error: &Error, line: &str, table: &str) -> String {
    let explained = in_plain_words(error.message());
    match advice(error, line, table) {
        Some(advice) => format!("{explained}; {advice}"),
        None => explained,
    }
}

/// A message of serde without the types of this program.
fn in_plain_words(message: &str) -> String {
    match message.split_once("expected struct ") {
        Some((before, _)) => format!("{before}expected a table"),
        None => WORDS.iter().fold(message.to_owned(), |message, (word, plain)| message.replace(word, plain)),
    }
}

fn advice(error: &Error, text: &str, table: &str) -> Option<String> {
    if let Some(rest) = error.message().strip_prefix("unknown field ") {
        let (unknown, known) = rest.split_once(", expected ")?;
        return instead_of(unknown.trim_matches('`'), known);
    }
    let mut wrong = key_at(text, table, error.span()?.start)?;
    if let Some(missing) = error.message().strip_prefix("missing field `")
        && wrong.is_table
    {
        wrong.path.push(missing.trim_end_matches('`').to_owned());
    }
    let example = keys(EXAMPLE, "").find(|example| !example.is_table && example.path == wrong.path)?;
    Some(format!("for example: {}", example.line))
}

/// The known name that was probably meant.
pub fn most_like<'a>(unknown: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let alike = known.map(|name| (strsim::jaro_winkler(unknown, name), name)).filter(|(alike, _)| *alike >= ALIKE);
    alike.max_by(|(one, _), (other, _)| one.total_cmp(other)).map(|(_, name)| name)
}

/// The key that was meant, or the tables that have a key of this name.
fn instead_of(unknown: &str, known: &str) -> Option<String> {
    if let Some(best) = most_like(unknown, known.split('`').skip(1).step_by(2)) {
        return Some(format!("did you mean `{best}`?"));
    }
    let all = keys(EXAMPLE, "").filter(|key| key.path.last().is_some_and(|last| last == unknown));
    let mut tables: Vec<_> =
        all.map(|key| {
            if key.is_table { key.path } else { key.path.split_last().map_or(vec![], |(_, table)| table.to_vec()) }
        })
        .map(|path| format!("[{}]", path.join(".").replace('*', "NAME")))
        .collect();
    tables.dedup();
    (!tables.is_empty()).then(|| format!("`{unknown}` belongs to {}", tables.join(" or ")))
}

/// A line that begins a table or sets a key.
struct Key<'a> {
    /// The parts from the top table on, with `*` for names that users give.
    path: Vec<String>,
    is_table: bool,
    line: &'a str,
}

/// The keys of a configuration, or of a part of a table, also those that are commented out.
fn keys<'a>(text: &'a str, table: &str) -> impl Iterator<Item = Key<'a>> + use<'a> {
    let mut table = if table.is_empty() { Vec::new() } else { parts(table) };
    text.lines().filter_map(move |line| {
        // Strings of the example contain no `#`.
        let line = line.trim_start_matches('#').split('#').next().unwrap_or_default().trim();
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            table = parts(name);
            return Some(Key { path: normalized(table.clone()), is_table: true, line });
        }
        let key = line.split_once('=')?.0.trim();
        let is_key = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
        let path = table.iter().cloned().chain(parts(key)).collect();
        is_key.then(|| Key { path: normalized(path), is_table: false, line })
    })
}

/// The key on whose line this byte is, or the table that begins there.
fn key_at<'a>(text: &'a str, table: &str, at: usize) -> Option<Key<'a>> {
    let rest = text.get(at..)?;
    let end = at + rest.find('\n').unwrap_or(rest.len());
    keys(text.get(..end)?, table).last()
}

fn parts(name: &str) -> Vec<String> {
    name.split('.').map(|part| part.trim().trim_matches('"').to_owned()).collect()
}

fn normalized(mut path: Vec<String>) -> Vec<String> {
    if let [first, name, ..] = path.as_mut_slice()
        && NAMED.contains(&first.as_str())
    {
        "*".clone_into(name);
        // Both kinds of plugins have the same keys.
        if first == "agent" {
            "plugins".clone_into(first);
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use crate::config::Config;
    use std::path::Path;

    fn refused(text: &str) -> String {
        Config::parse(text, Path::new("p.toml"), Path::new("/base")).unwrap_err().to_string()
    }

    #[test]
    fn an_error_ends_with_what_to_write() {
        for (text, advice) in [
            ("[server]\nreloads = true", "did you mean `reload`?"),
            ("[pluggins.a]\nsource = \"x\"", "did you mean `plugins`?"),
            ("[audit]\noff = true", "`audit` belongs to [server.audit]"),
            ("[server]\ndeadline = \"3s\"", "`deadline` belongs to [plugins.NAME.limits]"),
            ("[plugins.a]\nsource = \"x\"\nlimits.deadline = 30", "for example: deadline = \"30s\""),
            ("[plugins.a.limits]\nfuel = \"many\"", "for example: fuel = 1_000_000_000"),
            ("[server]\nmax-body = \"a lot\"", "for example: max-body ="),
            ("[agent.a]\nsource = \"x\"\ngrants.http = [\"example.com\"]", "for example: http = [{ allow ="),
            ("[plugins.a]", "for example: source ="),
        ] {
            let message = refused(text);
            assert!(message.lines().last().unwrap().contains(advice), "{message}");
        }
        assert!(!refused("[plugins.a]\nsource = \"x\"\ngrants.state = true").contains("struct"));
        assert!(refused("[server]\nx = 1").contains("expected one of"), "nothing is like it");
    }
}
