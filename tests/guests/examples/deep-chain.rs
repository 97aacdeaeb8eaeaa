//! Agent tools named `d0`, `d1`, ...: each calls the next, whose number is in `n`.

use guests::agent_tools;

guests::manifest!(r#"{"name":"deep-chain","version":"0.1.0","description":"","requests":{"agent-tools":["*.run"]}}"#);

guests::guest! {
    fn run(args) {
        let options = agent_tools::CallOptions { timeout_ms: None, purpose: Some("misbehaving".to_owned()), chunks: false };
        agent_tools::call(&format!("d{}.run", args.n_or(0)), &format!(r#"{{"n":{}}}"#, args.n_or(0) + 1), &options).map(guests::answered).map_err(guests::agent_failure)
    }
}
