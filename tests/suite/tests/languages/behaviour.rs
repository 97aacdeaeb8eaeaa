//! The plugin `polyglot` is the same in every language: `tests/languages/README.md` specifies it, `transcript.json` has what a
//! client sees of it. `PORTCULLIS_WRITE_TRANSCRIPT=1` writes that file anew, from the plugin in Rust.

use super::transcript::{self, Place};
use serde_json::{Map, Value};
use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use suite::paths;
use suite::web::{Reply, Seen, Web};

/// Languages, by the names of their components in `target/languages`. The first one is the reference.
const LANGUAGES: [&str; 5] = ["rust", "javascript", "python", "c", "go"];

#[test]
fn polyglot_behaves_the_same_in_every_language() {
    let golden = paths::root().join("tests/languages/transcript.json");
    let place = Arc::new(Place::default());
    let web = Web::serve_at(SocketAddr::from((Ipv4Addr::LOCALHOST, 8444)), {
        let place = place.clone();
        move |seen| answer(seen, &place)
    });
    for language in LANGUAGES {
        let seen = transcript::of(&paths::language(language), &web, &place);
        if language == LANGUAGES[0] && std::env::var_os("PORTCULLIS_WRITE_TRANSCRIPT").is_some() {
            fs::write(&golden, format!("{:#}\n", Value::Object(seen.clone()))).unwrap();
        }
        let expected: Map<String, Value> = serde_json::from_str(&fs::read_to_string(&golden).unwrap()).unwrap();
        let different: String =
            expected.iter().filter_map(|(step, expected)| difference(step, &seen[step], expected)).collect();
        assert!(different.is_empty(), "{language} differs:\n{different}");
        assert_eq!(seen.len(), expected.len(), "{language}: {:?}", seen.keys());
    }
}

/// The first line in which a step is not what it should be.
fn difference(step: &str, seen: &Value, expected: &Value) -> Option<String> {
    let [seen, expected] = [seen, expected].map(|value| format!("{value:#}"));
    let (seen, expected): (Vec<_>, Vec<_>) = (seen.lines().collect(), expected.lines().collect());
    let at = (0..seen.len().max(expected.len())).find(|&at| seen.get(at) != expected.get(at))?;
    let around = |lines: &[&str]| lines[at.saturating_sub(2).min(lines.len())..lines.len().min(at + 3)].join("\n");
    Some(format!("{step}:\n{}\nin place of\n{}\n\n", around(&seen), around(&expected)))
}

/// The other server.
fn answer(seen: &Seen, place: &Place) -> Reply {
    match seen.path() {
        path if path.starts_with("/v1/place/") => place.answer(seen),
        "/v1/long" => Reply::new(200, "x".repeat(100)).with("Content-Type", "text/plain"),
        "/v1/broken" => Reply::new(500, "broken"),
        "/v1/empty" => Reply::new(404, ""),
        _ => Reply::new(200, format!("{} ä", seen.method)).with("Content-Type", "text/plain; charset=utf-8"),
    }
}
