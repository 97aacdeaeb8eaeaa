//! A server behind this host, as commands list it.

use platform::telemetry::printable;
use serde_json::{Value, json};
use std::time::Duration;
use upstream::Upstream;

/// How long a server may take to connect. Bounds how long a script waits for one that hangs.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// A server behind this host to be listed.
pub(super) struct ListedServer {
    table: String,
    state: &'static str,
    /// Why it is not connected.
    pub(super) problem: Option<String>,
    /// The tools that clients see, by the server's names; none if it was not asked.
    pub(super) tools: Option<Vec<String>>,
    /// Which parts of its list are not used, and why.
    left_out: Vec<String>,
}

impl ListedServer {
    pub(super) fn unasked(name: &str) -> Self {
        let (problem, tools, left_out) = Default::default();
        Self { table: format!("upstream.{name}"), state: "a server", problem, tools, left_out }
    }

    pub(super) async fn ask(upstream: &Upstream) -> Self {
        let unasked = Self::unasked(upstream.name());
        let slow = || Err("it does not answer".to_owned());
        let ready = tokio::time::timeout(CONNECT_TIMEOUT, upstream.ready()).await;
        let ready = ready.map_or_else(|_| slow(), |ready| ready.map_err(|error| error.to_string()));
        if let Err(problem) = ready {
            return Self { state: "not connected", problem: Some(problem), ..unasked };
        }
        let exposed = |tool: &str| upstream.settings().exposes(tool);
        let tools = upstream.tools().iter().map(|tool| tool.tool.name.clone()).filter(|name| exposed(name)).collect();
        Self { state: "connected", tools: Some(tools), left_out: upstream.left_out(), ..unasked }
    }

    /// Prints it; what is wrong with it goes to stderr.
    pub(super) fn print(&self) {
        let tools = self.tools.as_ref().map_or_else(|| "-".to_owned(), |tools| tools.join(", "));
        let (table, state, tools) = (&self.table, self.state, printable(&tools));
        println!("{table:<28} {state:<16} {:<10} {:>9}  {:<19}  {:<14}  {tools}", "-", "-", "-", "-");
        for problem in self.problem.iter().chain(&self.left_out) {
            eprintln!("note: [{table}] {}", printable(problem));
        }
    }

    /// The same without the columns of plugins.
    pub(super) fn print_alone(&self) {
        println!("{:<28} {}", self.table, self.state);
        for tool in self.tools.iter().flatten() {
            println!("  {}", printable(tool));
        }
        for problem in self.problem.iter().chain(&self.left_out) {
            eprintln!("note: [{}] {}", self.table, printable(problem));
        }
    }

    pub(super) fn to_json(&self) -> Value {
        let mut value = json!({ "plugin": self.table, "state": self.state });
        if let Some(problem) = &self.problem {
            value["error"] = problem.as_str().into();
        }
        if let Some(tools) = &self.tools {
            value["tools"] = tools.as_slice().into();
            value["leftOut"] = self.left_out.as_slice().into();
        }
        value
    }
}
