//! Asks ten million times what time it is.

guests::guest! {
    fn run(args) {
        let mut last = 0;
        for _ in 0..args.n_or(10_000_000) {
            last = guests::wasip2::clocks::monotonic_clock::now();
        }
        Ok(format!("it is {last}").into())
    }
}
