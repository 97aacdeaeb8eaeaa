//! A model that may use a tool.

use portcullis_guest::ToolError;
use portcullis_guest::client::{self, SampleTool, ToolChoice};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Lookup {
    /// Which word.
    word: String,
}

pub(crate) fn explain(word: String) -> Result<String, ToolError> {
    let tool = SampleTool::new::<Lookup>("look_up", "Looks a word up.");
    let talk = client::sample(format!("Explain {word}.")).max_tokens(50).tool(tool).tool_choice(ToolChoice::Auto);
    let (mut talk, mut uses) = (talk, 0);
    loop {
        let answer = talk.clone().key(format!("after {uses}")).ask()?;
        let mut outcomes = Vec::new();
        for wanted in answer.tool_uses() {
            outcomes.push(match wanted.arguments::<Lookup>()?.word.as_str() {
                "missing" => wanted.failed("there is no such word"),
                word => wanted.succeeded(format!("{word}: {} letters", word.chars().count())),
            });
        }
        if outcomes.is_empty() {
            return Ok(format!("{}, after {uses}", answer.text()));
        }
        uses += outcomes.len();
        talk = talk.message(answer).outcomes(outcomes);
    }
}
