//! Lists the agent tools that it may call.

guests::manifest!(
    r#"{"name":"list-agent-tools","version":"0.1.0","description":"","requests":{"agent-tools":["*.*"]}}"#
);

guests::guest! {
    fn run(args) {
        Ok(guests::agent_tools::list_tools().iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>().join(" ").into())
    }
}
