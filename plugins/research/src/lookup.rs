//! Key findings by a model that may look things up: it asks for a tool, the plugin runs it, and the model goes on.

use portcullis_guest::ToolError;
use portcullis_guest::client::{SampleTool, ToolChoice, ToolOutcome, ToolUse};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::findings::request;
use crate::library::{Library, Passage};

/// Requests to the model. In the last one it has to answer.
const ROUNDS: u32 = 3;

/// Passages that one look-up gives.
const PASSAGES: usize = 3;

const NAME: &str = "lookup";

/// The tool's input.
#[derive(Deserialize, JsonSchema)]
struct Lookup {
    /// A word, or a few.
    term: String,
}

/// Asks for the key findings, running look-ups as the model wants them.
pub(crate) fn findings(topic: &str, passages: &[&Passage], library: &Library) -> Result<String, ToolError> {
    let mut talk =
        request(topic, passages).tool(SampleTool::new::<Lookup>(NAME, "Finds passages of the library about a term."));
    for round in 1..=ROUNDS {
        let choice = if round == ROUNDS { ToolChoice::None } else { ToolChoice::Auto };
        let answer = talk.clone().tool_choice(choice).key(format!("key_findings_{round}")).ask()?;
        let outcomes: Vec<ToolOutcome> = answer.tool_uses().map(|wanted| run(wanted, library)).collect();
        if outcomes.is_empty() {
            return Ok(answer.text().trim().to_owned());
        }
        talk = talk.message(answer).outcomes(outcomes);
    }
    Err(ToolError::failed(format_args!("the model still asked for tools in round {ROUNDS}, where it had to answer")))
}

/// Runs the tool. Mistakes are the model's to mend.
fn run(wanted: &ToolUse, library: &Library) -> ToolOutcome {
    if wanted.name != NAME {
        return wanted.failed(format_args!("there is no tool `{}`, only `{NAME}`", wanted.name));
    }
    let Lookup { term } = match wanted.arguments() {
        Ok(arguments) => arguments,
        Err(error) => return wanted.failed(error),
    };
    let found = library.about(&term, PASSAGES);
    if found.is_empty() {
        return wanted.succeeded(format!("Nothing in the library is about {term}."));
    }
    let lines: Vec<String> = found.iter().map(|passage| format!("[{}] {}", passage.source, passage.text)).collect();
    wanted.succeeded(lines.join("\n"))
}
