//! Tries what it may not do, with names of `n` bytes, until it is stopped.

use guests::{agent_tools, state};

guests::manifest!(
    r#"{"name":"refused-flood","version":"0.1.0","description":"","requests":{"agent-tools":["notes.*"],"state":true}}"#
);

guests::guest! {
    fn run(args) {
        let name = "x".repeat(args.n_or(1 << 20) as usize);
        let options = agent_tools::CallOptions { timeout_ms: None, purpose: None, chunks: false };
        loop {
            if agent_tools::call(&name, "{}", &options).is_ok() || state::get(&name).is_ok() {
                return Ok("allowed".to_owned().into());
            }
        }
    }
}
