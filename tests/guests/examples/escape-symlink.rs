//! Follows the links out of its directory that somebody left there.

use guests::Attempts;

guests::manifest!(r#"{"name":"escape-symlink","version":"0.1.0","description":"","requests":{"filesystem":"write"}}"#);

guests::guest! {
    fn run(args) {
        let mut attempts = Attempts::default();
        for path in [
            "/work/absolute-link",
            "/work/relative-link",
            "/work/folder-link/secret.txt",
            "/work/absolute-folder-link/secret.txt",
            "/work/chain-link",
            "/work/sub/folder-link/secret.txt",
            "/work/sub/../folder-link/secret.txt",
        ] {
            attempts.read(path);
        }
        attempts.list("/work/folder-link");
        attempts.note("writing through a link", std::fs::write("/work/relative-link", "escaped"));
        attempts.note("creating through a dangling link", std::fs::write("/work/dangling-link", "escaped"));
        attempts.outcome()
    }
}
