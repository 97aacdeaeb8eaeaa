//! Asks for two gigabytes of random bytes at once.

guests::guest! {
    fn run(args) {
        let bytes = guests::wasip2::random::random::get_random_bytes(args.n_or(1 << 31));
        Ok(format!("got {}", bytes.len()).into())
    }
}
