//! The journey: nine steps, and what the model must have read after each.

use super::agent::Agent;
use super::conversation::Conversation;
use super::model::{Call, find};
use super::session::{Cache, Place, Run, Transport};
use crate::{PATIENCE, eventually, paths, plugin, plugin_from};
use serde_json::{Value, json};

/// The steps, in order.
pub const STEPS: [&str; 9] =
    ["tools", "call", "stream", "question", "denial", "fuel", "large result", "killed", "cold cache"];

/// What came of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// As it should be.
    Good,
    /// As good as the client allows: what it does instead.
    Clients(&'static str),
    /// Something else.
    Wrong(String),
}

/// The whole journey of one agent over one transport; one outcome for each step.
pub fn travel(agent: Agent, transport: Transport) -> Vec<Outcome> {
    let mut outcomes = calls(agent, transport);
    outcomes.push(killed(agent, transport));
    outcomes.push(cold_cache(agent, transport));
    outcomes
}

/// A call of the first session.
struct Step {
    tool: &'static str,
    arguments: Value,
    /// One of these the model must read.
    reads: &'static [Reads],
}

/// A text that the model may read, and what its client then does instead of what others do.
type Reads = (&'static str, Option<&'static str>);

/// The calls of the first session, one for each step from the second on.
fn steps() -> [Step; 6] {
    let step = |tool, arguments, reads| Step { tool, arguments, reads };
    [
        step("echo__run", json!({"n": 7}), &[("\"n\":7", None)]),
        step("slow-stream__run", json!({"n": 40}), &[("40 parts", None)]),
        step(
            "travel__travel_agent",
            json!({"destination": "Paris"}),
            &[
                ("nobody has answered the question", Some("cancels questions without a person")),
                ("the user declined", Some("declines questions without a person")),
                ("this client does not let it", Some("has no questions")),
            ],
        ),
        step("files__read", json!({"path": "/etc/passwd"}), &[("Ask the user, who alone can allow it", None)]),
        step("spin__run", json!({}), &[("all 100000000 units of fuel are used up", None)]),
        step(
            "large__run",
            json!({"path": "copy"}),
            &[
                ("exceeds maximum allowed tokens. Output has been saved", Some("saves it to a file")),
                ("xxxxxxxxxxxxxxxx", None),
            ],
        ),
    ]
}

/// The steps up to the large result, in one session.
pub fn calls(agent: Agent, transport: Transport) -> Vec<Outcome> {
    let folder =
        |guest: &str| format!("grants.filesystem = [{{ host = \"work\", guest = {guest:?}, access = \"write\" }}]\n");
    let config = plugin("echo", "")
        + &plugin("slow-stream", "")
        + &plugin("spin", "limits.fuel = 100_000_000")
        + &plugin("large", "")
        + &plugin_from("files", &paths::real_plugin("files"), &folder("/work"))
        + &plugin_from(
            "travel",
            &paths::real_plugin("travel"),
            &(folder("/bookings") + "grants.client = { form = true }"),
        );
    let place = Place::new(agent, transport, &config, Cache::Shared);
    let script = steps().map(|step| (step.tool, step.arguments));
    let mut run = place.start(script.to_vec());
    let ended = run.ended();
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
    // Some agents show the JSON of a result.
    let read = read.replace('\\', "");
    let beginning = || read.chars().take(300).collect::<String>();
    if read.contains("portcullis grant") {
        return Outcome::Wrong(format!("the model reads how to get more authority: {}", beginning()));
    }
    let known = step.reads.iter().find(|(text, _)| read.contains(text));
    match known {
        None => Outcome::Wrong(format!("the model read: {}", beginning())),
        Some((_, None)) => Outcome::Good,
        Some((_, Some(instead))) => Outcome::Clients(instead),
    }
}

/// The agent is killed while a call runs: the call ends and is in the audit, and so does a server that the agent started.
pub fn killed(agent: Agent, transport: Transport) -> Outcome {
    let config = plugin("wait-forever", "limits.deadline = \"10s\"");
    let place = Place::new(agent, transport, &config, Cache::Shared);
    let mut run = place.start(vec![("wait-forever__run", json!({}))]);
    if eventually(PATIENCE, || place.log().contains("asleep").then_some(())).is_none() {
        return Outcome::Wrong(format!("the call never began: {}", place.printed()));
    }
    run.kill();
    let Some((_, outcome)) = eventually(PATIENCE, || place.audited().pop()) else {
        return Outcome::Wrong(format!("the audit has no record of the call: {}", place.log()));
    };
    if eventually(PATIENCE, || (!place.is_serving()).then_some(())).is_none() {
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

/// With an empty cache and a component that takes long to compile: the first run ends, the component is compiled whether or
/// not the agent waits, and the second run finds its tool.
fn cold_cache(agent: Agent, transport: Transport) -> Outcome {
    let config = plugin_from("hello", &paths::real_plugin("hello-python"), "");
    let place = Place::new(agent, transport, &config, Cache::Cold);
    let script: Vec<Call> = vec![("hello__greet", json!({"name": "Ada"}))];
    let greeted = |run: &Run| run.model.conversation().results.first().is_some_and(|read| read.contains("Ada"));
    let mut first = place.start(script.clone());
    if first.ended().is_none() {
        return Outcome::Wrong(format!("the agent does not end: {}", place.printed()));
    }
    if greeted(&first) {
        return Outcome::Good;
    }
    if eventually(PATIENCE, || place.has_compiled().then_some(())).is_none() {
        return Outcome::Wrong("the component is never compiled".into());
    }
    let mut second = place.start(script);
    let _ = second.ended();
    if greeted(&second) {
        Outcome::Clients("shows the tool from the second run on")
    } else {
        let results = second.model.conversation().results;
        Outcome::Wrong(format!("the model read {results:?}: {}", place.printed()))
    }
}
