//! Has a manifest that is no JSON.

guests::manifest!("{\"name\":");

guests::guest! {
    fn run(args) {
        Ok(format!("{args:?}").into())
    }
}
