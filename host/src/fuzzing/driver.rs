//! Every target with the committed inputs and with mutations of them: always the same ones, so that a failure can be seen
//! again. How a fuzzer finds its way by coverage is not here; what it found is, as committed inputs.

use super::{TARGETS, Target};
use fastrand::Rng;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// Mutations of each target. A second or two of each in a build that is not optimised.
const RUNS: u64 = 4_000;
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

fn corpus(name: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fuzz/corpus").join(name);
    let mut files: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty(), "{} is empty: mutations would begin with nothing", folder.display());
    files.iter().map(|file| fs::read(file).unwrap()).collect()
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

fn run((name, target): Target) {
    let from = corpus(name);
    let mut rng = Rng::with_seed(0x0070_6f72_7463_756c);
    let inputs = from.iter().cloned().chain(std::iter::repeat_with(|| mutated(&from, &mut rng)).take(RUNS as usize));
    for input in inputs {
        if catch_unwind(AssertUnwindSafe(|| target(&input))).is_err() {
            panic!("{name} fails with {:?}", String::from_utf8_lossy(&input));
        }
    }
}

#[test]
fn inputs_of_strangers_harm_nobody() {
    TARGETS.iter().for_each(|target| run(*target));
}

#[test]
fn every_target_has_a_program() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fuzz");
    let programs = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
    for (name, _) in TARGETS {
        assert!(programs.contains(&format!("name = \"{name}\"")), "{name} is not in tests/fuzz/Cargo.toml");
        let program = fs::read_to_string(folder.join(format!("fuzz_targets/{name}.rs"))).unwrap();
        assert!(program.contains(&format!("fuzzing::{name}(")), "{name}.rs calls something else");
    }
}
