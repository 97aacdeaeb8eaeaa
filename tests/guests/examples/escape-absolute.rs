//! Names files outside by absolute paths; `path` names one more.

use guests::Attempts;

guests::manifest!(r#"{"name":"escape-absolute","version":"0.1.0","description":"","requests":{"filesystem":"write"}}"#);

guests::guest! {
    fn run(args) {
        let mut attempts = Attempts::default();
        for path in ["/etc/passwd", "//etc/passwd", "/proc/self/environ", "/work//etc/passwd", &args.path_or("/etc/hostname")] {
            attempts.read(path);
        }
        attempts.list("/");
        attempts.list("/etc");
        attempts.outcome()
    }
}
