//! Plugins whose pictures have forbidden addresses. A separate process checks each.

use super::Row;
use super::fixture::Fixture;
use std::fs;
use suite::paths;

/// Checks a plugin whose tool has a picture at this address.
fn picture(fixture: &Fixture, place: &str) -> String {
    const PLACE: &[u8] = b"javascript:alert(document.cookie)";
    let mut bytes = fs::read(paths::guest("picture")).unwrap();
    let at = bytes.windows(PLACE.len()).position(|there| there == PLACE).unwrap();
    bytes[at..at + PLACE.len()].copy_from_slice(format!("{place:/<width$}", width = PLACE.len()).as_bytes());
    fixture.check(&bytes)
}

pub(super) const ROWS: &[Row] = &[
    Row {
        id: "M25.1",
        what: "a picture that is a program",
        outcome: "refused: is neither https: nor data:",
        run: |g| picture(g, "javascript:alert(document.cookie)"),
    },
    Row {
        id: "M25.2",
        what: "a picture in a file of the client's machine",
        outcome: "refused: is neither https: nor data:",
        run: |g| picture(g, "file:///etc/passwd"),
    },
    Row {
        id: "M25.3",
        what: "a picture without TLS, which tells who looks at it",
        outcome: "refused: is neither https: nor data:",
        run: |g| picture(g, "http://tracker.example/"),
    },
    Row {
        id: "M25.4",
        what: "a picture behind a program in capitals",
        outcome: "refused: is neither https: nor data:",
        run: |g| picture(g, "JAVASCRIPT:alert(1)"),
    },
    Row {
        id: "M25.5",
        what: "a picture where one may be (so that the rows before are about the place)",
        outcome: "loaded",
        run: |g| picture(g, "https://pictures.example/"),
    },
];
