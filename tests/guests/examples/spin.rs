//! Computes for ever.

guests::guest! {
    fn run(args) {
        let mut turns = 0u64;
        loop {
            turns = std::hint::black_box(turns.wrapping_add(1));
        }
    }
}
