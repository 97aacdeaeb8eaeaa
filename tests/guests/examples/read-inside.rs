//! Reads the file of the directory it was given: what the escapes may do.

guests::manifest!(r#"{"name":"read-inside","version":"0.1.0","description":"","requests":{"filesystem":"read"}}"#);

guests::guest! {
    fn run(args) {
        std::fs::read_to_string(args.path_or("/work/inside.txt")).map(Into::into).map_err(guests::failed)
    }
}
