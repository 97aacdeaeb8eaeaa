//! Calls itself until the stack is full.

/// Neither the last thing it does nor a sum, so that no compiler makes a loop of it.
#[inline(never)]
fn deeper(level: u64) -> u64 {
    let level = std::hint::black_box(level);
    if level == 0 { 1 } else { deeper(level + 1).rotate_left(7) ^ level }
}

guests::guest! {
    fn run(args) {
        Ok(deeper(args.n_or(1)).to_string().into())
    }
}
