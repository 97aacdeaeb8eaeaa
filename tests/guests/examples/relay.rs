//! Calls the agent tool that `path` names and passes on what it said; `n` goes along.

use guests::agent_tools;

guests::manifest!(r#"{"name":"relay","version":"0.1.0","description":"","requests":{"agent-tools":["*.*"]}}"#);

guests::guest! {
    fn run(args) {
        let options = agent_tools::CallOptions { timeout_ms: None, purpose: Some("misbehaving".to_owned()), chunks: false };
        agent_tools::call(&args.path_or("echo.run"), &args.n.map_or("{}".to_owned(), |n| format!(r#"{{"n":{n}}}"#)), &options).map(guests::answered).map_err(guests::agent_failure)
    }
}
