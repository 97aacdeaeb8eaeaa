//! Answers with structured content that is no JSON.

guests::guest! {
    fn run(args) {
        guests::structured("{")
    }
}
