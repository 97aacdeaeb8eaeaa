//! Tells everything it can find out about where it runs. Requests three variables.

use guests::wasip2::filesystem::preopens::get_directories;

guests::manifest!(
    r#"{"name":"env-peek","version":"0.1.0","description":"","requests":{"env":["PEEK_ONE","PEEK_TWO","PEEK_UNSET"]}}"#
);

guests::guest! {
    fn run(args) {
        use guests::wasip2::cli::{environment, stdin};
        let found = serde_json::json!({
            "env": environment::get_environment(),
            "args": environment::get_arguments(),
            "cwd": environment::initial_cwd(),
            "preopens": get_directories().into_iter().map(|(_, path)| path).collect::<Vec<_>>(),
            "stdin": stdin::get_stdin().blocking_read(64).map_or(0, |bytes| bytes.len()),
        });
        guests::structured(found.to_string())
    }
}
