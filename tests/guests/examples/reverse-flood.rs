//! Calls a tool of the agent ten thousand times, whatever the answer.

use guests::agent_tools::{self, CallOptions};

guests::manifest!(
    r#"{"name":"reverse-flood","version":"0.1.0","description":"","requests":{"agent-tools":["echo.*"]}}"#
);

guests::guest! {
    fn run(args) {
        let mut refusal = None;
        for _ in 0..args.n_or(10_000) {
            if let Err(error) = agent_tools::call("echo.run", "{}", &CallOptions { timeout_ms: None, purpose: None, chunks: false }) {
                refusal = Some(error);
            }
        }
        match refusal {
            Some(error) => Err(guests::agent_failure(error)),
            None => Ok("all answered".to_owned().into()),
        }
    }
}
