//! Computes, and calls the agent tools below it in a tree of calls, which its `path` is as JSON; `n` is how far down it is.

use guests::agent_tools::{self, AgentCall, CallOptions};
use guests::failed;
use serde_json::{Value, json};

guests::manifest!(r#"{"name":"tree","version":"0.1.0","description":"","requests":{"agent-tools":["*.*"]}}"#);

guests::guest! {
    fn run(args) {
        let depth = args.n_or(0) + 1;
        let tree: Value = serde_json::from_str(&args.path_or("{}")).map_err(failed)?;
        // As text, so that trees which differ in nothing else are equally long.
        let thousands: u64 = tree["thousands"].as_str().unwrap_or_default().parse().map_err(failed)?;
        let half = |rounds: u64| (0..rounds).fold(7u64, |sum, round| std::hint::black_box(sum.wrapping_mul(31) ^ round));
        half(thousands * 500);
        let call = |below: &Value| AgentCall {
            name: format!("t{depth}.run"),
            arguments: json!({"n": depth, "path": below.to_string()}).to_string(),
            options: CallOptions { timeout_ms: None, purpose: None, chunks: false },
        };
        let calls: Vec<AgentCall> = tree["below"].as_array().into_iter().flatten().map(call).collect();
        // Those below may fail.
        match tree["together"].as_bool() {
            Some(true) => drop(agent_tools::call_many(&calls)),
            _ => calls.iter().for_each(|call| drop(agent_tools::call(&call.name, &call.arguments, &call.options))),
        }
        half(thousands * 500);
        match tree["end"].as_str() {
            Some("fail") => Err(failed("as it was told to")),
            Some("trap") => std::process::abort(),
            _ => Ok("done".to_owned().into()),
        }
    }
}
