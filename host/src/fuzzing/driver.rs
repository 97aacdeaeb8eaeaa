//! Runs the targets with the committed corpus and with mutations of it. Test runs use a fixed seed, so that failures are
//! reproducible; `cargo xtask fuzz` sets the time and the seed.

use super::targets::{TARGETS, Target};
use fastrand::Rng;
use platform::clock::{Clock, SystemClock};
use std::collections::HashSet;
use std::env;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::Duration;

/// Mutations per target in a test run: one or two seconds in a debug build.
const RUNS: u64 = 4_000;
const SEED: u64 = 0x0070_6f72_7463_756c;
/// How long one input may take, in a debug build on a busy machine.
const MAX_TIME: Duration = Duration::from_secs(20);
/// The most inputs that are mutated further.
const MAX_POOL: usize = 2_000;
const MAX_INPUT_BYTES: usize = 64 << 10;

/// Tokens of the formats, so that not all mutations are refused at the first byte.
const TOKENS: &[&str] = &[
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

fn read_inputs(folder: &Path) -> Vec<Vec<u8>> {
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| fs::read(file).unwrap()).collect()
}

fn corpus(name: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fuzz/corpus").join(name);
    let inputs = read_inputs(&folder);
    assert!(!inputs.is_empty(), "{} is empty, so there is nothing to mutate", folder.display());
    inputs
}

fn mutate(from: &[Vec<u8>], rng: &mut Rng) -> Vec<u8> {
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
                let token = TOKENS[rng.usize(..TOKENS.len())];
                input.splice(at..end, token.bytes());
            }
        }
    }
    input.truncate(MAX_INPUT_BYTES);
    input
}

/// A target with its inputs and the outcomes so far.
struct Fuzzer {
    target: Target,
    pool: Vec<Vec<u8>>,
    outcomes: HashSet<String>,
    rng: Rng,
}

impl Fuzzer {
    /// Runs all inputs of the pool first.
    fn new(target: Target, pool: Vec<Vec<u8>>, seed: u64) -> Self {
        let mut fuzzer = Self { target, pool: pool.clone(), outcomes: HashSet::new(), rng: Rng::with_seed(seed) };
        for input in pool {
            fuzzer.is_new_outcome(&input);
        }
        fuzzer
    }

    /// Runs one mutation. Returns it if its outcome is new and the pool is not full.
    fn step(&mut self) -> Option<Vec<u8>> {
        let input = mutate(&self.pool, &mut self.rng);
        if !self.is_new_outcome(&input) || self.pool.len() >= MAX_POOL {
            return None;
        }
        self.pool.push(input.clone());
        Some(input)
    }

    fn is_new_outcome(&mut self, input: &[u8]) -> bool {
        let (name, target) = self.target;
        let began = SystemClock.now();
        let Ok(outcome) = catch_unwind(AssertUnwindSafe(|| target(input))) else {
            panic!("{name} fails with {}", input.escape_ascii());
        };
        let took = SystemClock.now().saturating_duration_since(began);
        assert!(took < MAX_TIME, "{name} takes {took:?} for {}", input.escape_ascii());
        self.outcomes.insert(normalize(&outcome))
    }
}

/// Removes quoted parts of the input and digits from an outcome.
fn normalize(outcome: &str) -> String {
    let outside = outcome.split(['"', '`']).step_by(2).flat_map(str::chars);
    outside.filter(|c| !c.is_ascii_digit()).take(120).collect()
}

#[test]
fn targets_hold_for_the_corpus_and_its_mutations() {
    for target in TARGETS {
        let mut fuzzer = Fuzzer::new(*target, corpus(target.0), SEED);
        for _ in 0..RUNS {
            fuzzer.step();
        }
    }
}

/// `cargo xtask fuzz` passes the target, the seconds, the seed and the folder for new inputs in `PORTCULLIS_FUZZ`.
#[test]
#[ignore = "`cargo xtask fuzz` runs it"]
fn fuzz_one_target() {
    let options = env::var("PORTCULLIS_FUZZ").expect("set by `cargo xtask fuzz`");
    let [name, seconds, seed, folder] = options.splitn(4, ' ').collect::<Vec<_>>().try_into().unwrap();
    let target = *TARGETS.iter().find(|(known, _)| *known == name).expect("a target of this name");
    let (folder, seed) = (Path::new(folder), seed.parse().unwrap());
    let pool = [corpus(name), read_inputs(&folder.join(name))].concat();
    let (running, mut fuzzer, mut runs) =
        (folder.join(format!("running-{name}")), Fuzzer::new(target, pool, seed), 0u64);
    let end = SystemClock.now() + Duration::from_secs(seconds.parse().unwrap());
    while SystemClock.now() < end {
        // Inputs follow from the seed, so the number of the run identifies an input that does not terminate.
        if runs.is_multiple_of(1_000) {
            fs::write(&running, format!("{name}, seed {seed}, within a thousand inputs after the {runs}th")).unwrap();
        }
        if let Some(input) = fuzzer.step() {
            fs::write(folder.join(name).join(format!("{seed}-{runs}")), input).unwrap();
        }
        runs += 1;
    }
    fs::remove_file(running).unwrap();
    eprintln!("{name}: {runs} inputs, {} outcomes, no failure", fuzzer.outcomes.len());
}

#[test]
fn every_target_has_a_corpus_and_every_corpus_a_target() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fuzz/corpus");
    let mut folders: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    let mut names: Vec<_> = TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();
    folders.sort();
    names.sort();
    assert_eq!(folders, names);
}
