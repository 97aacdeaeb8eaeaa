//! A Portcullis server with nothing but one server behind it.

use super::list::Listed;
use crate::{Client, Home, PATIENCE, Server, eventually};
use serde_json::{Value, json};

/// The server's name in the configuration.
const NAME: &str = "server";

/// Where the gateway says whose tool it is.
pub(super) const SOURCE: &str = "dev.portcullis/source";

/// What a client is shown.
pub(super) struct Through {
    pub(super) tools: Vec<Value>,
    /// Why nothing is shown.
    pub(super) failure: Option<String>,
    log: String,
}

/// The tools of a server as a client of the gateway sees them, when the server is connected and they are all there.
pub(super) fn tools(server: &Listed, home: Home) -> Through {
    let command = server.command();
    let words: Vec<_> =
        [command.get_program()].into_iter().chain(command.get_args()).map(|it| it.to_string_lossy()).collect();
    let variables: Vec<_> = server.variables().map(|(name, value)| format!("{name} = {value:?}")).collect();
    let config = format!("[upstream.{NAME}]\ncommand = {words:?}\nenv = {{ {} }}\n", variables.join(", "));
    let user = home.path().to_owned();
    let started = Server::spawn(home, &config, &[], |command| {
        command.env("HOME", user);
    });
    started.wait_until_loaded();
    let mut client = Client::of_server(started);
    // The log says how many tools are used; a moment later they are listed.
    let all = eventually(PATIENCE, || {
        let log = client.server.log();
        let connected = log.lines().find(|line| line.contains(": connected server="))?;
        let used: usize = connected.rsplit_once("tools=")?.1.trim().parse().ok()?;
        let tools = listed(&mut client);
        (tools.len() + log.matches("cannot be exposed as").count() >= used).then_some(tools)
    });
    let log = client.server.log();
    let why = |log: &str| {
        let line = log.lines().rev().find(|line| line.contains("not connected")).unwrap_or("its tools do not appear");
        format!("it lists its tools directly, and not through the gateway: {line}")
    };
    let failure = all.is_none().then(|| why(&log));
    Through { tools: all.unwrap_or_default(), failure, log }
}

/// All pages of the list.
fn listed(client: &mut Client) -> Vec<Value> {
    let (mut tools, mut params) = (Vec::new(), json!({}));
    loop {
        let answer = client.request("tools/list", params);
        tools.extend(answer.result()["tools"].as_array().cloned().unwrap_or_default());
        match &answer.result()["nextCursor"] {
            Value::Null => break,
            cursor => params = json!({"cursor": cursor}),
        }
    }
    tools.retain(|tool| tool["_meta"][SOURCE]["upstream"] == NAME);
    tools
}

/// The name by which the server knows a tool.
pub(super) fn given_name(tool: &Value) -> Option<&str> {
    tool["_meta"][SOURCE]["tool"].as_str()
}

/// The name by which a client knows it, unless it is renamed.
pub(super) fn shown_name(given: &str) -> String {
    format!("{NAME}__{given}")
}

impl Through {
    /// Why this tool is left out, as the log says.
    pub(super) fn reason(&self, name: &str) -> Option<String> {
        // The sentence is followed by the name of the server.
        let lines = || self.log.lines().map(|line| line.rsplit_once(" server=").map_or(line, |(sentence, _)| sentence));
        let after = |mark: &str| lines().find_map(|line| Some(line.split_once(mark)?.1.to_owned()));
        let exposed = format!("a tool cannot be exposed as `{}`", shown_name(name));
        let is_taken = || lines().any(|line| line.contains(&exposed)).then(|| "its name is taken".to_owned());
        // Of tools that nobody has looked at, the log has one sentence for all.
        let is_cut = || lines().any(|line| line.contains("are used")).then(|| "the list is too long".to_owned());
        after(&format!("the tool `{name}` is left out: ")).or_else(is_taken).or_else(is_cut)
    }
}
