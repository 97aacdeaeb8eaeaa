//! Calls an agent tool that it never requested.

use guests::agent_tools;

guests::manifest!(r#"{"name":"unrequested-agent-tool","version":"0.1.0","description":""}"#);

guests::guest! {
    fn run(args) {
        let options = agent_tools::CallOptions { timeout_ms: None, purpose: Some("misbehaving".to_owned()), chunks: false };
        agent_tools::call("echo.run", "{}", &options).map(guests::answered).map_err(guests::agent_failure)
    }
}
