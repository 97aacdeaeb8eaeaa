//! Calls the agent tools that `path` names, all at once, and passes on their chunks between two of its own. `n` goes along;
//! `a.run>b.run` calls `a.run` with the path `b.run`.

use guests::agent_tools::{self, AgentCall, CallOptions};
use guests::{failed, output, text};

guests::manifest!(r#"{"name":"pass-on","version":"0.1.0","description":"","requests":{"agent-tools":["*.*"]}}"#);

guests::guest! {
    fn run(args) {
        let say = |words: &str| output::emit(&[text(words)]).map(|_| ()).map_err(|error| failed(format!("{error:?}")));
        let call = |name: &str| {
            let (name, path) = name.split_once('>').map_or((name, ""), |(name, path)| (name, path));
            let path = if path.is_empty() { String::new() } else { format!(r#","path":"{path}""#) };
            let arguments = format!(r#"{{"n":{}{path}}}"#, args.n_or(3));
            AgentCall { name: name.to_owned(), arguments, options: CallOptions { timeout_ms: None, purpose: None, chunks: true } }
        };
        say("before")?;
        let path = args.path_or("slow.run");
        let calls: Vec<AgentCall> = path.split(',').map(call).collect();
        let results = agent_tools::call_many(&calls);
        // Whoever has no room left for it still tells how the calls ended.
        let _ = say("after");
        let ended = |(call, result): (&AgentCall, Result<_, _>)| match result {
            Ok(_) => format!("{}: ok", call.name),
            Err(error) => format!("{}: {:?}", call.name, guests::agent_failure(error)),
        };
        Ok(calls.iter().zip(results).map(ended).collect::<Vec<_>>().join("\n").into())
    }
}
