//! Ends its process.

guests::guest! {
    fn run(args) {
        std::process::exit(3)
    }
}
