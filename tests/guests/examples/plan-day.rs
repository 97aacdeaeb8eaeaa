//! A good citizen that plans a day with its agent's calendar: what is there, `n` free slots at once, one event.

use guests::agent_tools::{self, AgentCall, AgentError, AgentResult, CallOptions};
use guests::{agent_failure, failed, output, text};

guests::manifest!(
    r#"{"name":"plan-day","version":"0.1.0","description":"","requests":{"agent-tools":["calendar.*"]}}"#
);

fn options() -> CallOptions {
    CallOptions { timeout_ms: Some(20_000), purpose: Some("find a free hour".to_owned()), chunks: false }
}

/// What one slot came to: the tool's answer, or which error.
fn told(result: &Result<AgentResult, AgentError>) -> serde_json::Value {
    match result {
        Ok(AgentResult { structured: Some(json), .. }) => serde_json::from_str(json).unwrap_or_default(),
        Ok(_) => "no slot".into(),
        Err(AgentError::Declined(why)) => format!("declined: {why}").into(),
        Err(AgentError::InvalidArguments(_)) => "invalid-arguments".into(),
        Err(AgentError::ToolError(_)) => "tool-error".into(),
        Err(AgentError::Failed(_)) => "failed".into(),
        Err(AgentError::Exhausted(_)) => "exhausted".into(),
        Err(other) => format!("{other:?}").into(),
    }
}

guests::guest! {
    fn run(args) {
        let tools: Vec<_> = agent_tools::list_tools().into_iter().map(|tool| tool.name).collect();
        let slot = |n| AgentCall {
            name: "calendar.free_slots".to_owned(),
            arguments: format!(r#"{{"day":"day {n}"}}"#),
            options: options(),
        };
        let slots = agent_tools::call_many(&(0..args.n_or(20)).map(slot).collect::<Vec<_>>());
        output::emit(&[text(format!("{} slots", slots.len()))]).map_err(|error| failed(format!("{error:?}")))?;
        let event = agent_tools::call("calendar.create_event", r#"{"title":"plan"}"#, &options()).map_err(agent_failure)?;
        guests::structured(serde_json::json!({
            "tools": tools,
            "slots": slots.iter().map(told).collect::<Vec<_>>(),
            "private": slots.iter().filter_map(|slot| slot.as_ref().ok()).any(|slot| slot.private),
            "event": told(&Ok(event.clone())),
            "edited": event.edited,
            "origin": format!("{:?}", event.origin),
        }).to_string())
    }
}
