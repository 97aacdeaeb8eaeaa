//! The journey of an agent: the calls in one session, then two steps with an agent each.

use super::agent::Agent;
use super::conversation::Conversation;
use super::model::{Call, find};
use super::session::{Place, Run};
use crate::journey::{Cache, Outcome, Step, Transport, config, steps};
use crate::{PATIENCE, eventually, paths, plugin, plugin_from};
use serde_json::json;
use std::fs;

/// The whole journey of one agent over one transport; one outcome for each step.
pub fn travel(agent: &'static Agent, transport: Transport) -> Vec<Outcome> {
    let mut outcomes = calls(agent, transport);
    outcomes.push(killed(agent, transport));
    outcomes.push(cold_cache(agent, transport));
    outcomes.push(program(agent, transport));
    outcomes.push(new_tool(agent, transport));
    outcomes.push(match transport {
        Transport::Stdio => server_killed(agent),
        // Whoever runs a server that others connect to starts it again.
        Transport::Http => Outcome::NotTaken,
    });
    outcomes
}

/// The steps up to the large result, in one session.
pub fn calls(agent: &'static Agent, transport: Transport) -> Vec<Outcome> {
    let place = Place::new(agent, transport, &config(), Cache::Shared);
    let script = steps().map(|step| (step.tool, step.arguments));
    let mut run = place.start(script.to_vec());
    let ended = run.agent.ended();
    let conversation = run.model.conversation();
    let missing = steps().into_iter().find(|step| find(&conversation.tools, step.tool).is_none());
    let tools = match missing {
        _ if ended.is_none() => Outcome::Wrong(format!("the agent does not end: {}", place.printed())),
        Some(step) => Outcome::Wrong(format!("{} is not offered to the model: {}", step.tool, place.printed())),
        None => Outcome::Good,
    };
    let outcomes = steps().into_iter().enumerate().map(|(at, step)| judge(&step, at, &conversation, &place));
    [tools].into_iter().chain(outcomes).collect()
}

fn judge(step: &Step, at: usize, conversation: &Conversation, place: &Place) -> Outcome {
    let Some(read) = conversation.results.get(at) else {
        return Outcome::Wrong(format!("the model read nothing: {}", place.printed()));
    };
    step.judge(read)
}

/// In code mode the model sees three tools in the place of all: it searches for one, asks how it is called, and calls it twenty times
/// in one program.
pub fn program(agent: &'static Agent, transport: Transport) -> Outcome {
    let code = "prefix = false\ngrants.agent-tools = [\"*.*\"]";
    let code = plugin_from("code", &paths::real_plugin("code"), code);
    let place = Place::new(
        agent,
        transport,
        &format!("[code]\nplugin = \"code\"\nonly = true\napproval = \"never\"\n\n{code}{}", config()),
        Cache::Shared,
    );
    let program = "let sum = 0; for (let n = 0; n < 20; n++) sum += (await tools.echo.run({ n })).n; return { sum };";
    let script = [
        ("search_tools", json!({"query": "echo"}), "echo.run"),
        ("describe_tool", json!({"name": "echo.run"}), "tools.echo.run(args"),
        ("run_code", json!({"code": program}), "\"sum\":190"),
    ];
    let mut run = place.start(script.iter().map(|(tool, arguments, _)| (*tool, arguments.clone())).collect());
    if run.agent.ended().is_none() {
        return Outcome::Wrong(format!("the agent does not end: {}", place.printed()));
    }
    let Conversation { tools, results } = run.model.conversation();
    let hidden = find(&tools, "echo__run").is_none();
    let read = script.iter().zip(&results).all(|((_, _, text), read)| read.replace(['\\', ' '], "").contains(text));
    match hidden && read && results.len() == script.len() {
        true => Outcome::Good,
        false => Outcome::Wrong(format!("the model had {tools:?} and read {results:?}: {}", place.printed())),
    }
}

/// The agent is killed while a call runs: the call ends and is in the audit, and so does a server that the agent started.
pub fn killed(agent: &'static Agent, transport: Transport) -> Outcome {
    let config = plugin("wait-forever", "limits.deadline = \"10s\"");
    let place = Place::new(agent, transport, &config, Cache::Shared);
    let mut run = place.start(vec![("wait-forever__run", json!({}))]);
    if eventually(PATIENCE, || place.served.log().contains("asleep").then_some(())).is_none() {
        return Outcome::Wrong(format!("the call never began: {}", place.printed()));
    }
    run.agent.kill();
    let Some((_, outcome)) = eventually(PATIENCE, || place.served.audited().pop()) else {
        return Outcome::Wrong(format!("the audit has no record of the call: {}", place.served.log()));
    };
    if eventually(PATIENCE, || (!place.served.is_serving()).then_some(())).is_none() {
        return Outcome::Wrong("the server goes on without its agent".into());
    }
    match outcome.as_str() {
        "cancelled" => Outcome::Good,
        // In these revisions a client may come back for its result, so a lost connection cancels nothing.
        "deadline-exceeded" if transport == Transport::Http => {
            Outcome::Clients("speaks a revision in which the call goes on to its deadline")
        }
        other => Outcome::Wrong(format!("the audit says {other}")),
    }
}

/// The process that serves is killed while a call runs, in the middle of a session over stdio: the model reads that, and its next call
/// works.
pub fn server_killed(agent: &'static Agent) -> Outcome {
    let config = plugin("wait-forever", "limits.deadline = \"60s\"") + &plugin("echo", "");
    let place = Place::new(agent, Transport::Stdio, &config, Cache::Shared);
    let mut run =
        place.start(vec![("wait-forever__run", json!({})), ("echo__run", json!({"n": 7, "path": "goes on"}))]);
    if eventually(PATIENCE, || place.served.log().contains("asleep").then_some(())).is_none() {
        return Outcome::Wrong(format!("the call never began: {}", place.printed()));
    }
    place.served.kill_serving();
    if run.agent.ended().is_none() {
        return Outcome::Wrong(format!("the agent does not end: {}", place.printed()));
    }
    match run.model.conversation().results.as_slice() {
        [killed, next] if killed.contains("it was not run again") && next.contains("goes on") => Outcome::Good,
        results => Outcome::Wrong(format!("the model read {results:?}: {}", place.printed())),
    }
}

/// A plugin is added while a call runs: the model's next call is one of its tool.
fn new_tool(agent: &'static Agent, transport: Transport) -> Outcome {
    let config = plugin("slow-stream", "");
    let place = Place::new(agent, transport, &config, Cache::Shared);
    let mut run = place.start(vec![("slow-stream__run", json!({"n": 100})), ("later__run", json!({"n": 5}))]);
    if eventually(PATIENCE, || find(&run.model.conversation().tools, "slow-stream__run").map(|_| ())).is_none() {
        return Outcome::Wrong(format!("the model is offered nothing: {}", place.printed()));
    }
    let later = plugin_from("later", &paths::guest("echo"), "");
    place.served.home().write("portcullis.toml", &(config + &later));
    if run.agent.ended().is_none() {
        return Outcome::Wrong(format!("the agent does not end: {}", place.printed()));
    }
    match run.model.conversation().results.as_slice() {
        [_, new] if new.contains("\"n\":5") || new.contains("\"n\": 5") => Outcome::Good,
        [_] => Outcome::Clients("lists tools once in a session"),
        results => Outcome::Wrong(format!("the model read {results:?}: {}", place.printed())),
    }
}

/// With an empty cache and a component that takes long to compile: the first run ends, the component is compiled whether or
/// not the agent waits, and the second run finds its tool.
fn cold_cache(agent: &'static Agent, transport: Transport) -> Outcome {
    let config = plugin_from("hello", &paths::real_plugin("hello-python"), "");
    let place = Place::new(agent, transport, &config, Cache::Cold);
    let script: Vec<Call> = vec![("hello__greet", json!({"name": "Ada"}))];
    let greeted = |run: &Run| run.model.conversation().results.first().is_some_and(|read| read.contains("Ada"));
    let mut first = place.start(script.clone());
    if first.agent.ended().is_none() {
        return Outcome::Wrong(format!("the agent does not end: {}", place.printed()));
    }
    if greeted(&first) {
        return Outcome::Good;
    }
    if eventually(PATIENCE, || place.served.has_compiled().then_some(())).is_none() {
        return Outcome::Wrong("the component is never compiled".into());
    }
    let again = || {
        let mut run = place.start(script.clone());
        let _ = run.agent.ended();
        run
    };
    let mut last = again();
    if greeted(&last) {
        return Outcome::Clients("shows the tool from the second run on");
    }
    let own_cache = place.served.folder().join(".cache");
    if own_cache.exists() {
        fs::remove_dir_all(own_cache).expect("the agent's cache");
        last = again();
        if greeted(&last) {
            return Outcome::Unable(
                "keeps the list of its first run in a cache of its own, and a short run ends before it lists again",
            );
        }
    }
    let results = last.model.conversation().results;
    Outcome::Wrong(format!("the model read {results:?}: {}", place.printed()))
}
