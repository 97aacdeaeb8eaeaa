//! Tests that do something very often: a tenth of it in every run of the tests, all of it on demand.

/// Whether this run does all of it, as `cargo xtask soak` and `cargo xtask hostile` ask for.
pub fn is_whole() -> bool {
    std::env::var_os("PORTCULLIS_FIGURES").is_some()
}

/// How often to do what a whole run does `all` times.
pub fn share(all: usize) -> usize {
    if is_whole() { all } else { all.div_ceil(10) }
}
