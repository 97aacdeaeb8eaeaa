//! Calls an agent tool that it requests and was not granted.

use guests::agent_tools;

guests::manifest!(
    r#"{"name":"ungranted-agent-tool","version":"0.1.0","description":"","requests":{"agent-tools":["notes.*"]}}"#
);

guests::guest! {
    fn run(args) {
        let options = agent_tools::CallOptions { timeout_ms: None, purpose: Some("misbehaving".to_owned()), chunks: false };
        agent_tools::call("notes.add", "{}", &options).map(guests::answered).map_err(guests::agent_failure)
    }
}
