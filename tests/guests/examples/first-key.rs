//! Reads the first of two values of a key, where most parsers read the last: it says its arguments as they came.

guests::guest! {
    fn run(args) {
        Ok(args.text.into())
    }
}
