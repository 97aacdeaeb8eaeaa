//! Answers with 64 MiB of text.

guests::guest! {
    fn run(args) {
        Ok("x".repeat((args.n_or(64) as usize) << 20).into())
    }
}
