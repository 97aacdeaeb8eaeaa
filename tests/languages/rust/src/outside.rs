//! Tools of the agent, kept values, other servers.

use portcullis_guest::agent_tools::{AgentResult, Call};
use portcullis_guest::{ToolError, agent_tools, client, connections, http, state};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

pub(crate) fn delegate(tool: &str, path: Option<String>, n: Option<String>) -> Result<String, ToolError> {
    let mut arguments = Map::new();
    arguments.extend(path.map(|path| ("path".to_owned(), path.into())));
    // A number where it is one.
    arguments.extend(n.map(|n| ("n".to_owned(), n.parse::<i64>().map_or_else(|_| Value::from(n), Value::from))));
    let said: Value = agent_tools::call(tool, &arguments)?;
    Ok(format!("{tool} said {} and {}", said["path"], said["n"]))
}

pub(crate) fn gather(tools: Vec<String>) -> String {
    let call = |(at, tool): (usize, String)| {
        let arguments = json!({ "path": tool, "n": at + 1 });
        Call::new(tool, &arguments)
    };
    let results = agent_tools::call_many(tools.into_iter().enumerate().map(call).collect());
    let line = |result: Result<AgentResult, _>| match result.and_then(|result| result.read::<Value>()) {
        Ok(said) => format!("{} and {}", said["path"], said["n"]),
        Err(error) => error.to_string(),
    };
    results.into_iter().map(line).collect::<Vec<_>>().join("\n")
}

pub(crate) fn account(path: &str, body: Option<String>) -> Result<String, ToolError> {
    if !connections::connected("service")? {
        client::connect("Connect the service.", "service").key("service").ask()?.or_stop()?;
    }
    let request = match body {
        Some(body) => connections::post("service", path).json(&json!({ "body": body })),
        None => connections::get("service", path),
    };
    let response = request.header("x-kind", "person").send()?.error_for_status()?;
    Ok(format!("{} {}", response.status, response.text()))
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Action {
    Set,
    Get,
    Remove,
    List,
    Count,
}

pub(crate) fn keep(action: Action, key: &str, value: Option<String>) -> Result<String, ToolError> {
    Ok(match action {
        Action::Set => {
            state::set(key, value.unwrap_or_default())?;
            "kept".into()
        }
        Action::Get => match state::get(key)? {
            Some(entry) => String::from_utf8_lossy(&entry.value).into_owned(),
            None => "nothing".into(),
        },
        Action::Remove => (if state::remove(key)? { "removed" } else { "nothing" }).into(),
        Action::List => state::keys(key)?.join(", "),
        Action::Count => state::update(key, |count: Option<i64>| count.unwrap_or(0) + 1)?.to_string(),
    })
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Fetched {
    status: i64,
    kind: Option<String>,
    truncated: bool,
    text: String,
}

pub(crate) fn fetch(path: &str, body: Option<String>) -> Result<Fetched, ToolError> {
    let url = format!("http://localhost:8444{path}");
    let request = match body {
        Some(body) => http::post(url).json(&json!({ "body": body })),
        None => http::get(url),
    };
    let response = request.header("x-polyglot", "yes").max_body(20).send()?;
    if response.status == 500 {
        response.error_for_status()?;
        unreachable!("500 is no success");
    }
    Ok(Fetched {
        status: response.status.into(),
        kind: response.header("content-type").map(ToOwned::to_owned),
        truncated: response.truncated,
        text: response.text().into_owned(),
    })
}
