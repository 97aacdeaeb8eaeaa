//! Agent tools named `a` and `b` that call each other for ever: `a` when `n` is odd, else `b`.

use guests::agent_tools;

guests::manifest!(
    r#"{"name":"mutual-recursion","version":"0.1.0","description":"","requests":{"agent-tools":["*.run"]}}"#
);

guests::guest! {
    fn run(args) {
        let options = agent_tools::CallOptions { timeout_ms: None, purpose: Some("misbehaving".to_owned()), chunks: false };
        agent_tools::call(if args.n_or(0) % 2 == 1 { "a.run" } else { "b.run" }, &format!(r#"{{"n":{}}}"#, args.n_or(0) + 1), &options).map(guests::answered).map_err(guests::agent_failure)
    }
}
