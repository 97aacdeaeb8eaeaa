//! Fuzzing of parsers of untrusted input: briefly and deterministically with every test run, or for any time with
//! `cargo xtask fuzz`.

mod driver;
mod targets;
