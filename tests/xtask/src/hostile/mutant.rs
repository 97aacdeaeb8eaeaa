//! A security check, with the change that takes it away and the test that must then fail.

/// One check.
pub(super) struct Mutant {
    /// What `--mutants` takes.
    pub(super) name: &'static str,
    /// Below `host`.
    pub(super) file: &'static str,
    /// The check; it stands there exactly once.
    pub(super) from: &'static str,
    /// The same without it where `OFF` is true.
    pub(super) to: &'static str,
    /// Which test notices: one of the suite, `unit ` and one of the host's own, or `rows ` and rows of the hostile table.
    pub(super) noticed: &'static str,
}

/// A list of them.
macro_rules! mutants {
    ($($name:literal in $file:literal: $from:literal => $to:literal, $noticed:literal;)*) => {
        &[$(Mutant { name: $name, file: $file, from: $from, to: $to, noticed: $noticed }),*]
    };
}
pub(super) use mutants;
