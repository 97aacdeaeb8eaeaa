//! Climbs out of its directory with `..`.

use guests::Attempts;

guests::manifest!(r#"{"name":"escape-dotdot","version":"0.1.0","description":"","requests":{"filesystem":"write"}}"#);

guests::guest! {
    fn run(args) {
        let mut attempts = Attempts::default();
        for path in [
            "/work/../outside/secret.txt",
            "/work/sub/../../outside/secret.txt",
            "/work/./sub/.././../outside/secret.txt",
            "/work/sub/../../work/../outside/secret.txt",
            "../outside/secret.txt",
            "/work/missing/../../outside/secret.txt",
        ] {
            attempts.read(path);
        }
        attempts.list("/work/..");
        attempts.list("/work/sub/../..");
        attempts.outcome()
    }
}
