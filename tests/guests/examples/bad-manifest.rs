//! Has a manifest with a key that nobody knows.

guests::manifest!(r#"{"name":"bad-manifest","version":"0.1.0","description":"","colour":"red"}"#);

guests::guest! {
    fn run(args) {
        Ok(format!("{args:?}").into())
    }
}
