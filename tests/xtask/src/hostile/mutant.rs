//! A security check, with the change that removes it and the test that must then fail.

pub(super) struct Mutant {
    /// The name for `--mutants`.
    pub(super) name: &'static str,
    /// Path below `host`.
    pub(super) file: &'static str,
    /// The source text of the check; it occurs in the file exactly once.
    pub(super) from: &'static str,
    /// The same text with the check disabled where `OFF` is true.
    pub(super) to: &'static str,
    /// The test that must fail: one of the suite, `unit ` and one of the host's own, or `rows ` and rows of the hostile
    /// table.
    pub(super) noticed: &'static str,
}

/// A list of checks.
macro_rules! mutants {
    ($($name:literal in $file:literal: $from:literal => $to:literal, $noticed:literal;)*) => {
        &[$(Mutant { name: $name, file: $file, from: $from, to: $to, noticed: $noticed }),*]
    };
}
pub(super) use mutants;
