//! Takes a million handles of the host and gives none back.

guests::guest! {
    fn run(args) {
        let an_hour = 3_600_000_000_000;
        for _ in 0..args.n_or(1_000_000) {
            std::mem::forget(guests::wasip2::clocks::monotonic_clock::subscribe_duration(an_hour));
        }
        Ok(format!("took {}", args.n_or(1_000_000)).into())
    }
}
