//! Was built for a version of the interface that is not there yet.

guests::stamp!("portcullis:api", "0.9.0");

guests::guest! {
    fn run(args) {
        Ok(format!("{args:?}").into())
    }
}
