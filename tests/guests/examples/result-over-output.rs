//! Answers with 9 MiB of text: little enough to pass to the host, too much for a call.

guests::guest! {
    fn run(args) {
        Ok("x".repeat((args.n_or(9) as usize) << 20).into())
    }
}
