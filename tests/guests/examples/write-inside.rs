//! Writes into the directory it was given.

guests::manifest!(r#"{"name":"write-inside","version":"0.1.0","description":"","requests":{"filesystem":"write"}}"#);

guests::guest! {
    fn run(args) {
        let path = args.path_or("/work/written.txt");
        std::fs::write(&path, "written by a guest").map(|()| format!("wrote {path}").into()).map_err(guests::failed)
    }
}
