//! Compares transcripts. All allowed differences are listed here with their reasons.

use super::peer::Transport;
use super::run::Run;
use super::script::{Ends, Scenario};
use serde_json::{Value, json};

/// The allowed differences and their reasons. Printed under the table.
pub const DIFFERENCES: &[(&str, &str)] = &[
    ("time used", "two calls never take the same time; fuel, memory, chunks and questions must be equal"),
    ("dev.portcullis/call", "every call has an id of its own, by which the log of its chunks is named"),
    ("resultType", "only 2026-07-28 has it, and some clients keep it to themselves"),
    (
        "progressToken of a question",
        "a request to a 2025-11-25 client may be reported on; in 2026-07-28 it is no request",
    ),
    ("elicitationId", "2025-11-25 names each page; in 2026-07-28 the name is gone, and rmcp writes an empty one"),
    ("_meta of a url or sampling question", "TypeScript 2.4.0 drops it in 2026-07-28"),
    ("title of a form's schema", "TypeScript sdk 1.32.2 drops it"),
    ("order of questions put together", "they are put under keys, and clients answer them at once"),
    ("whole numbers in a form's schema", "Python writes 0 as 0.0 where a number is wanted"),
    (
        "an ability that is not declared",
        "an error (-32021) in 2026-07-28, a result with isError in 2025-11-25: both name the ability",
    ),
    ("words for a call given up", "every client has its own"),
    (
        "question of a call given up",
        "rmcp 3.9.0 drops the stream of a call of 2025-11-25 that it cancels over HTTP, and reads no withdrawal",
    ),
    ("progress", "TypeScript adds a report per round, and drops one that comes together with the end of its request"),
];

/// The part of a call that must be equal. Errors of the call stay in it, so that they are reported.
pub(super) fn essence(run: &Run, scenario: &Scenario, call: &Value) -> Value {
    let mut asked: Vec<Value> = call["asked"].as_array().cloned().unwrap_or_default();
    for question in &mut asked {
        forgive_question(run, scenario, question);
    }
    if scenario.together {
        asked.sort_by_key(|question| question["method"].to_string());
    }
    let mut essence = json!({"asked": asked, "ended": ended(scenario, call)});
    if !is_told(scenario, &call["progress"]) {
        essence["progress"] = call["progress"].clone();
    }
    let drops_stream = run.peer.name == "rmcp" && !is_modern(run) && run.transport == Transport::Http;
    if !drops_stream && call.get("withdrawn").is_some_and(|withdrawn| withdrawn != true) {
        essence["withdrawn"] = false.into();
    }
    whole(&mut essence);
    essence
}

fn is_modern(run: &Run) -> bool {
    run.seen["protocolVersion"] == "2026-07-28"
}

fn forgive_question(run: &Run, scenario: &Scenario, question: &mut Value) {
    let Some(params) = question["params"].as_object_mut() else { return };
    if run.peer.name == "@modelcontextprotocol/sdk"
        && let Some(schema) = params.get_mut("requestedSchema").and_then(Value::as_object_mut)
        && scenario.name == "fields"
    {
        schema.entry("title").or_insert_with(|| "Trip".into());
    }
    let is_form = params.contains_key("requestedSchema");
    let named = params.get("elicitationId").and_then(Value::as_str).map(|id| !id.is_empty());
    if named == Some(!is_modern(run)) {
        params.remove("elicitationId");
    }
    match params.get_mut("_meta").and_then(Value::as_object_mut) {
        Some(meta) if !is_modern(run) => {
            meta.remove("progressToken");
            // Python shows it as an attribute.
            meta.remove("progress_token");
        }
        None if is_modern(run) && run.peer.name == "@modelcontextprotocol/client" && !is_form => {
            let meta = json!({
                "dev.portcullis/source": {"plugin": "ask"},
                "dev.portcullis/correlationId": scenario.name,
            });
            params.insert("_meta".into(), meta);
        }
        _ => {}
    }
}

/// How the call ended.
fn ended(scenario: &Scenario, call: &Value) -> Value {
    if let Ends::GivenUp = scenario.ends
        && call.get("error").is_some()
    {
        return json!("given up");
    }
    if let Some(error) = call.get("error") {
        if error["code"] == -32021 {
            return json!({"unable": lacking(&error["data"]["requiredCapabilities"])});
        }
        return json!({"error": error});
    }
    let mut result = call["result"].clone();
    let told = &result["_meta"]["dev.portcullis/error"];
    if told["code"] == "unsupported" {
        return json!({"unable": told["what"]});
    }
    if let Some(result) = result.as_object_mut() {
        result.remove("resultType");
    }
    if let Some(meta) = result["_meta"].as_object_mut() {
        meta.remove("dev.portcullis/call");
        // Named after the call.
        if let Some(stream) = meta.get_mut("dev.portcullis/stream").and_then(Value::as_object_mut) {
            stream.remove("log");
        }
    }
    if let Some(usage) = result["_meta"]["dev.portcullis/usage"].as_object_mut() {
        usage.remove("cpuMs");
        usage.remove("wallMs");
    }
    result
}

/// A capability as the host names it: `{"elicitation": {"form": {}}}` is `elicitation.form`.
fn lacking(capability: &Value) -> String {
    let mut names = Vec::new();
    let mut inner = capability;
    while let Some((name, next)) = inner.as_object().and_then(|fields| fields.iter().next()) {
        names.push(name.as_str());
        inner = next;
    }
    names.join(".")
}

/// Whether the client got exactly the progress that the call reported, in order.
fn is_told(scenario: &Scenario, progress: &Value) -> bool {
    let own = |message: &&str| message.starts_with("Fulfilling input required by");
    let heard: Vec<_> = progress.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let mut reports = scenario.reports.iter();
    heard.iter().filter(|message| !own(message)).all(|message| reports.any(|report| report == message))
}

/// Writes 0.0 as 0.
fn whole(value: &mut Value) {
    match value {
        Value::Number(number) => {
            if let Some(float) = number.as_f64().filter(|float| number.is_f64() && float.fract() == 0.0) {
                *value = json!(float as i64);
            }
        }
        Value::Array(values) => values.iter_mut().for_each(whole),
        Value::Object(fields) => fields.values_mut().for_each(whole),
        _ => {}
    }
}

/// The first difference of two values: a path, and both sides.
pub(super) fn difference(at: &str, ours: &Value, theirs: &Value) -> Option<String> {
    match (ours, theirs) {
        (Value::Object(a), Value::Object(b)) => {
            let keys = a.keys().chain(b.keys().filter(|key| !a.contains_key(*key)));
            keys.into_iter()
                .find_map(|key| difference(&format!("{at}/{key}"), &ours[key.as_str()], &theirs[key.as_str()]))
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            (0..a.len()).find_map(|index| difference(&format!("{at}/{index}"), &a[index], &b[index]))
        }
        _ => (ours != theirs).then(|| format!("{at}: {ours} instead of {theirs}")),
    }
}
