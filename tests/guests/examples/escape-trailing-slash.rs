//! Puts a slash behind links out of its directory.

use guests::Attempts;

guests::manifest!(
    r#"{"name":"escape-trailing-slash","version":"0.1.0","description":"","requests":{"filesystem":"write"}}"#
);

guests::guest! {
    fn run(args) {
        let mut attempts = Attempts::default();
        attempts.read("/work/relative-link/");
        attempts.read("/work/folder-link//secret.txt");
        for path in ["/work/folder-link/", "/work/folder-link/.", "/work/absolute-folder-link/", "/work/chain-folder-link/"] {
            attempts.list(path);
        }
        attempts.note("creating with a slash", std::fs::create_dir("/work/dangling-link/"));
        attempts.note("removing with a slash", std::fs::remove_dir("/work/folder-link/"));
        attempts.note("renaming with a slash", std::fs::rename("/work/sub/", "/work/folder-link/sub/"));
        attempts.outcome()
    }
}
