//! An agent tool named `self` that calls itself.

use guests::agent_tools;

guests::manifest!(
    r#"{"name":"self-recursion","version":"0.1.0","description":"","requests":{"agent-tools":["self.*"]}}"#
);

guests::guest! {
    fn run(args) {
        let options = agent_tools::CallOptions { timeout_ms: None, purpose: Some("misbehaving".to_owned()), chunks: false };
        agent_tools::call("self.run", "{}", &options).map(guests::answered).map_err(guests::agent_failure)
    }
}
