//! Every target with the committed inputs and with mutations of them. With every test run always the same ones, so that a
//! failure can be seen again; by `cargo xtask fuzz` for so many seconds, with a seed that it names.

use super::{TARGETS, Target};
use fastrand::Rng;
use platform::clock::{Clock, SystemClock};
use std::collections::HashSet;
use std::env;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::Duration;

/// Mutations of each target. A second or two of each in a build that is not optimised.
const RUNS: u64 = 4_000;
/// The seed of those.
const SEED: u64 = 0x0070_6f72_7463_756c;
/// The longest that one input may take, in a build that is not optimised and beside other work.
const SLOW: Duration = Duration::from_secs(20);
/// How many inputs are changed further.
const POOL: usize = 2_000;
/// The longest input.
const LONGEST: usize = 64 << 10;

/// What formats are made of, so that mutations are not all refused at the first byte.
const WORDS: &[&str] = &[
    "\0",
    "\"",
    "{",
    "}",
    "[",
    "]",
    "=",
    "\n",
    "/",
    "..",
    "//",
    "%2e",
    "%00",
    "*",
    "@",
    ":",
    "#",
    "\u{202e}",
    "\u{0}",
    "e999",
    "-1",
    "18446744073709551616",
    "null",
    "true",
    "$ref",
    "\"type\": \"object\"",
    "http://",
    "https://",
    "oci://",
    "sha256:",
    "[plugins.a.grants]\n",
    "http = [{ allow = \"GET https://a.b/\" }]\n",
    "limits.memory = \"1 GiB\"\n",
];

fn inputs(folder: &Path) -> Vec<Vec<u8>> {
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| fs::read(file).unwrap()).collect()
}

fn corpus(name: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fuzz/corpus").join(name);
    let inputs = inputs(&folder);
    assert!(!inputs.is_empty(), "{} is empty: mutations would begin with nothing", folder.display());
    inputs
}

fn mutated(from: &[Vec<u8>], rng: &mut Rng) -> Vec<u8> {
    let mut input = from[rng.usize(..from.len())].clone();
    for _ in 0..rng.usize(1..6) {
        let at = rng.usize(..=input.len());
        let end = rng.usize(at..=input.len()).min(at + 64);
        match rng.u8(..6) {
            0 if at < input.len() => input[at] ^= 1 << rng.u8(..8),
            1 => input.insert(at, rng.u8(..)),
            2 => drop(input.drain(at..end)),
            3 => {
                let piece = input[at..end].to_vec();
                input.splice(at..at, piece);
            }
            4 => {
                let other = &from[rng.usize(..from.len())];
                let (start, stop) = (rng.usize(..=other.len()), rng.usize(..=other.len()));
                input.splice(at..end, other[start.min(stop)..start.max(stop)].iter().copied());
            }
            _ => {
                let word = WORDS[rng.usize(..WORDS.len())];
                input.splice(at..end, word.bytes());
            }
        }
    }
    input.truncate(LONGEST);
    input
}

/// One target's inputs, and what became of those that it had.
struct Fuzzed {
    target: Target,
    pool: Vec<Vec<u8>>,
    seen: HashSet<String>,
    rng: Rng,
}

impl Fuzzed {
    /// Begins with these, all of which it has first.
    fn new(target: Target, pool: Vec<Vec<u8>>, seed: u64) -> Self {
        let mut fuzzed = Self { target, pool: pool.clone(), seen: HashSet::new(), rng: Rng::with_seed(seed) };
        for input in pool {
            fuzzed.is_news(&input);
        }
        fuzzed
    }

    /// One more mutation; those with which something new became are returned, as long as there is room for them.
    fn step(&mut self) -> Option<Vec<u8>> {
        let input = mutated(&self.pool, &mut self.rng);
        if !self.is_news(&input) || self.pool.len() >= POOL {
            return None;
        }
        self.pool.push(input.clone());
        Some(input)
    }

    fn is_news(&mut self, input: &[u8]) -> bool {
        let (name, target) = self.target;
        let began = SystemClock.now();
        let Ok(became) = catch_unwind(AssertUnwindSafe(|| target(input))) else {
            panic!("{name} fails with {}", input.escape_ascii());
        };
        let took = SystemClock.now().saturating_duration_since(began);
        assert!(took < SLOW, "{name} takes {took:?} for {}", input.escape_ascii());
        self.seen.insert(plain(&became))
    }
}

/// What became of an input without the input's own words and numbers.
fn plain(became: &str) -> String {
    let outside = became.split(['"', '`']).step_by(2).flat_map(str::chars);
    outside.filter(|c| !c.is_ascii_digit()).take(120).collect()
}

#[test]
fn inputs_of_strangers_harm_nobody() {
    for target in TARGETS {
        let mut fuzzed = Fuzzed::new(*target, corpus(target.0), SEED);
        for _ in 0..RUNS {
            fuzzed.step();
        }
    }
}

/// What `cargo xtask fuzz` sets: the target, how many seconds, the seed, and the folder where inputs are kept.
#[test]
#[ignore = "`cargo xtask fuzz` runs it"]
fn as_long_as_told() {
    let told = env::var("PORTCULLIS_FUZZ").expect("`cargo xtask fuzz` says what and how long");
    let [name, seconds, seed, folder] = told.splitn(4, ' ').collect::<Vec<_>>().try_into().unwrap();
    let target = *TARGETS.iter().find(|(known, _)| *known == name).expect("a target of this name");
    let (folder, seed) = (Path::new(folder), seed.parse().unwrap());
    let pool = [corpus(name), inputs(&folder.join(name))].concat();
    let (running, mut fuzzed, mut runs) =
        (folder.join(format!("running-{name}")), Fuzzed::new(target, pool, seed), 0u64);
    let end = SystemClock.now() + Duration::from_secs(seconds.parse().unwrap());
    while SystemClock.now() < end {
        // The generator is all there is to an input: whoever does not come back is found by its number.
        if runs.is_multiple_of(1_000) {
            fs::write(&running, format!("{name}, seed {seed}, within a thousand inputs after the {runs}th")).unwrap();
        }
        if let Some(input) = fuzzed.step() {
            fs::write(folder.join(name).join(format!("{seed}-{runs}")), input).unwrap();
        }
        runs += 1;
    }
    fs::remove_file(running).unwrap();
    eprintln!("{name}: {runs} inputs, {} outcomes, no failure", fuzzed.seen.len());
}

#[test]
fn every_target_has_inputs_and_every_input_a_target() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fuzz/corpus");
    let mut folders: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    let mut names: Vec<_> = TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();
    folders.sort();
    names.sort();
    assert_eq!(folders, names);
}
