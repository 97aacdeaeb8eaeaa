//! Checks mangled components like any untrusted file: each is refused with a reason or accepted, and
//! none makes the host fail. A sample of the accepted ones is compiled.

use std::collections::BTreeMap;
use std::fs;
use suite::mangle::{WAYS, Way, mangled};
use suite::{Home, forge, paths, patiently, soak};

/// Components of a whole run.
const ALL: usize = 20_000;
/// Components that one process checks.
const BATCH: usize = 1_000;
/// How many accepted components of each batch are compiled.
const COMPILED: usize = 8;

/// Reasons for refusals, in the words of `package::inspect`.
const REASONS: &[&str] = &[
    "it is not WebAssembly",
    "it is a core module",
    "it is not a valid component",
    "it is built for portcullis:plugin",
    "it does not export",
    "its manifest is invalid",
    "more than the limit",
];

/// How the component of this number is mangled; every batch contains all ways.
fn way(number: usize) -> Way {
    let mut place = number % 1_000;
    for (way, share) in WAYS {
        match place.checked_sub(share) {
            None => return way,
            Some(rest) => place = rest,
        }
    }
    unreachable!("the shares add up to a thousand")
}

#[test]
fn mangled_components_never_crash_the_host() {
    let small = forge::plugin("(func $run)");
    let real = fs::read(paths::guest("echo")).unwrap();
    let home = Home::new();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut compiled = 0;
    let all = soak::share(ALL);
    for batch in 0..all / BATCH {
        let names: Vec<String> = (0..BATCH).map(|at| format!("{at}.wasm")).collect();
        for (at, name) in names.iter().enumerate() {
            let (number, way) = (batch * BATCH + at, way(at));
            // The real plugin is large, so it is used less often.
            let plugin = if way == Way::Bits && at % 5 == 0 { &real } else { &small };
            home.write(name, mangled(way, plugin, number as u64));
        }
        let arguments: Vec<&str> =
            ["check", "--no-compile"].into_iter().chain(names.iter().map(String::as_str)).collect();
        let ran = patiently(&home, &arguments);
        assert!(matches!(ran.status, Some(0 | 1)), "batch {batch}: the host failed: {ran:?}");
        assert!(!ran.stderr.contains("panicked"), "batch {batch}: {}", ran.stderr);
        let accepted: Vec<&str> =
            ran.stdout.lines().filter_map(|line| line.strip_suffix(" has the form of a plugin")).collect();
        let refused: Vec<&str> = ran.stderr.lines().filter(|line| line.starts_with("error: ")).collect();
        assert_eq!(accepted.len() + refused.len(), BATCH, "batch {batch}: some have no verdict: {}", ran.stderr);
        for line in refused {
            let reason = REASONS.iter().find(|reason| line.contains(**reason));
            *counts.entry(reason.unwrap_or_else(|| panic!("no known reason: {line}"))).or_default() += 1;
        }
        *counts.entry("accepted").or_default() += accepted.len();
        let step = accepted.len().div_ceil(COMPILED).max(1);
        let sample: Vec<&str> = accepted.into_iter().step_by(step).collect();
        compiled += sample.len();
        let ran = patiently(&home, &["check"].into_iter().chain(sample.iter().copied()).collect::<Vec<_>>());
        assert!(matches!(ran.status, Some(0 | 1)), "batch {batch}: the host failed: {ran:?}");
        let ours = ["panicked at host/", "panicked at /", "(signal", "was stopped"]
            .iter()
            .find(|word| ran.stderr.contains(**word));
        assert!(ours.is_none(), "batch {batch}: {}", ran.stderr);
    }
    // It is rare that a changed bit is one of the first bytes.
    let rare = soak::is_whole().then_some("it is not WebAssembly");
    for reason in ["it is not a valid component", "it does not export", "accepted"].into_iter().chain(rare) {
        assert!(counts.contains_key(reason), "nothing was {reason:?}: {counts:?}");
    }
    println!("{counts:?}, {compiled} of the accepted compiled");
    println!("hostile: malformed components: {all} of {all} refused with a reason or compiled, 0 faults of the host");
}
