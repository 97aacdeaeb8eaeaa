//! What each test takes of the machine, so that as many run at once as it bears.

/// What a test takes of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Share {
    /// It starts a server, calls some tools, and waits most of the time.
    Ordinary,
    /// It keeps a processor busy.
    Computes,
    /// It measures time, or fills the machine: nothing else runs meanwhile.
    Alone,
}
use Share::{Alone, Computes, Ordinary};

/// Tests that are long or not ordinary, by the beginnings of their names. The first that fits counts. A first run begins in this
/// order, so the longest come first.
const SHARES: &[(&str, Share)] = &[
    ("held_resources::", Ordinary),
    ("hostile::table", Computes),
    ("hostile::files::", Computes),
    ("languages::packages::", Computes),
    ("bombs::", Computes),
    ("idempotency::durable::two_processes", Ordinary),
    ("tasks::crash::", Ordinary),
    ("crowded::", Computes),
    ("languages::", Computes),
    ("pool_shares::", Computes),
    ("own_plugins::", Computes),
    ("agents::", Computes),
    ("lanes::", Computes),
    ("adapters::", Computes),
    ("clients::", Computes),
    ("libraries::", Computes),
    ("dev::", Computes),
    ("direct_calls::", Computes),
    ("abuse::", Computes),
    ("imports::", Computes),
    ("client_floods::", Computes),
    ("mangled::", Computes),
    ("large_answers::", Computes),
    ("noninterference::", Computes),
    ("budgets::each_guest", Computes),
    ("registries::pushed::", Computes),
    ("cache::", Computes),
    ("neighbours::", Alone),
];

/// The place of a test in a first run.
pub(super) fn place(test: &str) -> usize {
    SHARES.iter().position(|(start, _)| test.starts_with(start)).unwrap_or(SHARES.len())
}

impl Share {
    /// The share of a test.
    pub(super) fn of(test: &str) -> Self {
        SHARES.get(place(test)).map_or(Ordinary, |(_, share)| *share)
    }

    /// Whether it would be most of a short run.
    pub(super) fn is_long(self) -> bool {
        self != Ordinary
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    /// One that was renamed would run as an ordinary one.
    #[test]
    fn each_entry_fits_tests_that_exist() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for (start, _) in SHARES {
            let mut parts = start.split("::");
            let module = parts.next().unwrap();
            let of_program = ["tests/suite/tests", "guest-sdk/rust/tests", "host/tests"].map(|place| root.join(place));
            let below = of_program.iter().filter_map(|place| fs::read_dir(place.join(module)).ok());
            let below = below.flatten().map(|file| file.unwrap().path());
            let files = of_program.iter().map(|place| place.join(format!("{module}.rs"))).chain(below);
            let text: String = files.filter_map(|file| fs::read_to_string(file).ok()).collect();
            assert!(!text.is_empty(), "{start}");
            let named = |part: &str| text.contains(&format!("fn {part}")) || text.contains(&format!("mod {part}"));
            assert!(parts.filter(|part| !part.is_empty()).all(named), "{start}");
        }
    }
}
