//! The steps of the journey up to the large result, which all clients take, and what must have been read after each.

use crate::{paths, plugin, plugin_from};
use serde_json::{Value, json};

/// The steps, in order.
pub const STEPS: [&str; 12] = [
    "tools",
    "call",
    "stream",
    "question",
    "denial",
    "fuel",
    "large result",
    "killed",
    "cold cache",
    "code mode",
    "new tool",
    "server killed (stdio)",
];

/// What came of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// As it should be.
    Good,
    /// As good as the client allows: what it does instead.
    Clients(&'static str),
    /// The client does not get as far, for a reason of its own.
    Unable(&'static str),
    /// This step is not for this transport.
    NotTaken,
    /// Something else.
    Wrong(String),
}

/// A call.
pub(crate) struct Step {
    pub(crate) tool: &'static str,
    pub(crate) arguments: Value,
    /// One of these must be read.
    reads: &'static [Reads],
}

/// A text that may be read, and what the client then does instead of what others do.
type Reads = (&'static str, Option<&'static str>);

/// The calls, one for each step from the second on.
pub(crate) fn steps() -> [Step; 6] {
    let step = |tool, arguments, reads| Step { tool, arguments, reads };
    [
        step("echo__run", json!({"n": 7}), &[("\"n\":7", None), ("\"n\": 7", None)]),
        step("slow-stream__run", json!({"n": 40}), &[("40 parts", None)]),
        step(
            "travel__travel_agent",
            json!({"destination": "Paris"}),
            &[
                ("nobody has answered the question", Some("cancels questions without a person")),
                ("the user declined", Some("declines questions without a person")),
                ("this client does not let it", Some("has no questions")),
                ("An error occurred while running the tool", Some("tells its model only that there was an error")),
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

/// The configuration of a server with these tools.
pub(crate) fn config() -> String {
    let folder =
        |guest: &str| format!("grants.filesystem = [{{ host = \"work\", guest = {guest:?}, access = \"write\" }}]\n");
    plugin("echo", "")
        + &plugin("slow-stream", "")
        + &plugin("spin", "limits.fuel = 100_000_000")
        + &plugin("large", "")
        + &plugin_from("files", &paths::real_plugin("files"), &folder("/work"))
        + &plugin_from(
            "travel",
            &paths::real_plugin("travel"),
            &(folder("/bookings") + "grants.client = { form = true }"),
        )
}

impl Step {
    /// What comes of the step when a model reads this.
    pub(crate) fn judge(&self, read: &str) -> Outcome {
        // Some clients show the JSON of a result, or the JSON of that.
        let read = read.replace('\\', "");
        let beginning = || read.chars().take(300).collect::<String>();
        if read.contains("portcullis grant") {
            return Outcome::Wrong(format!("the model reads how to get more authority: {}", beginning()));
        }
        let known = self.reads.iter().find(|(text, _)| read.contains(text));
        match known {
            None => Outcome::Wrong(format!("the model read: {}", beginning())),
            Some((_, None)) => Outcome::Good,
            Some((_, Some(instead))) => Outcome::Clients(instead),
        }
    }
}
