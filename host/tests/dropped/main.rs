//! Calls that do not go well leave nothing behind, and hurt nobody: dropped or cancelled at any of their polls, failing
//! because a function of the host panics, or ended in the middle of a tree of calls.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(clippy::print_stdout, reason = "a test of an attack prints its figure")]

mod moments;
mod panics;
mod parties;
mod setup;
mod trees;

/// Whether the tests run at their full size.
fn is_full_size() -> bool {
    std::env::var_os("PORTCULLIS_FIGURES").is_some()
}
