//! Panics.

guests::guest! {
    fn run(args) {
        panic!("no bananas left, {args:?}")
    }
}
