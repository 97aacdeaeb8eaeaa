//! Requests to read and writes.

guests::manifest!(
    r#"{"name":"write-unrequested","version":"0.1.0","description":"","requests":{"filesystem":"read"}}"#
);

guests::guest! {
    fn run(args) {
        let path = args.path_or("/work/inside.txt");
        std::fs::write(&path, "overwritten").map(|()| format!("wrote {path}").into()).map_err(guests::failed)
    }
}
