//! Requests to a model, and its answers.

use std::fmt;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::{
    ClientError, IntoQuestion, Question, SampleAnswer, SampleContent, SampleMessage, SampleTool, ToolChoice,
    ToolOutcome, ToolUse,
};
use crate::bindings::portcullis::plugin::client as wit;
use crate::{Blob, Content, IntoContent, Role, schema};

/// The default limit on what a model may write: half of the operator's default grant.
const MAX_TOKENS: u32 = 1_000;

/// A request to a model: a conversation to continue, and options. [`sample`](super::sample) creates one.
///
/// With tools, the model may ask to run some instead of answering: run them, add its message and their outcomes, and
/// ask again.
///
/// ```no_run
/// # use portcullis_guest::{ToolError, client::{self, SampleTool}};
/// # #[derive(serde::Deserialize, schemars::JsonSchema)]
/// # struct Lookup { word: String }
/// # fn look_up(word: &str) -> String { word.into() }
/// # fn explain() -> Result<String, ToolError> {
/// let mut talk = client::sample("What is a portcullis?").tool(SampleTool::new::<Lookup>("look_up", "Looks a word up."));
/// loop {
///     let answer = talk.clone().ask()?;
///     let outcomes = answer
///         .tool_uses()
///         .map(|wanted| Ok(wanted.succeeded(look_up(&wanted.arguments::<Lookup>()?.word))))
///         .collect::<Result<Vec<_>, ToolError>>()?;
///     if outcomes.is_empty() {
///         return Ok(answer.text());
///     }
///     talk = talk.message(answer).outcomes(outcomes);
/// }
/// # }
/// ```
#[must_use = "no model is asked before `ask`, or `ask_many` for several questions at once"]
#[derive(Clone, Debug)]
pub struct Sample {
    key: Option<String>,
    request: wit::SampleRequest,
}

impl Sample {
    /// An empty conversation.
    pub(super) fn new() -> Self {
        let model = wit::ModelPreferences { hints: Vec::new(), cost: None, speed: None, intelligence: None };
        let request = wit::SampleRequest {
            messages: Vec::new(),
            system_prompt: None,
            max_tokens: MAX_TOKENS,
            temperature: None,
            stop_sequences: Vec::new(),
            model,
            tools: Vec::new(),
            tool_choice: None,
            purpose: None,
        };
        Self { key: None, request }
    }

    /// Adds a message from the user.
    pub fn user(self, content: impl Into<SampleContent>) -> Self {
        self.message(SampleMessage { role: Role::User, content: vec![content.into()] })
    }

    /// Adds a message from the model.
    pub fn assistant(self, content: impl Into<SampleContent>) -> Self {
        self.message(SampleMessage { role: Role::Assistant, content: vec![content.into()] })
    }

    /// Adds a message: one with several contents, or an earlier answer.
    pub fn message(mut self, message: impl Into<SampleMessage>) -> Self {
        self.request.messages.push(message.into());
        self
    }

    /// Adds the outcomes of the tools that the model asked for.
    pub fn outcomes(self, outcomes: impl IntoIterator<Item = ToolOutcome>) -> Self {
        let content = outcomes.into_iter().map(SampleContent::ToolResult).collect();
        self.message(SampleMessage { role: Role::User, content })
    }

    /// Sets the system prompt.
    pub fn system_prompt(mut self, text: impl Into<String>) -> Self {
        self.request.system_prompt = Some(text.into());
        self
    }

    /// Sets the maximum number of tokens; 1,000 by default. The operator's grant limits the sum over a call.
    pub fn max_tokens(mut self, tokens: u32) -> Self {
        self.request.max_tokens = tokens;
        self
    }

    /// Sets the temperature; its scale depends on the model.
    pub fn temperature(mut self, temperature: f64) -> Self {
        self.request.temperature = Some(temperature);
        self
    }

    /// Adds a text at which the model stops.
    pub fn stop_at(mut self, sequence: impl Into<String>) -> Self {
        self.request.stop_sequences.push(sequence.into());
        self
    }

    /// Adds a preferred model, by its name or a part of it; the best one comes first.
    pub fn prefer_model(mut self, name: impl Into<String>) -> Self {
        self.request.model.hints.push(name.into());
        self
    }

    /// Sets how much a low cost matters, from 0.0 to 1.0.
    pub fn prefer_cost(mut self, priority: f64) -> Self {
        self.request.model.cost = Some(priority);
        self
    }

    /// Sets how much speed matters, from 0.0 to 1.0.
    pub fn prefer_speed(mut self, priority: f64) -> Self {
        self.request.model.speed = Some(priority);
        self
    }

    /// Sets how much intelligence matters, from 0.0 to 1.0.
    pub fn prefer_intelligence(mut self, priority: f64) -> Self {
        self.request.model.intelligence = Some(priority);
        self
    }

    /// Adds a tool that the model may ask for. Needs a client that [supports](super::supported) `sample_tools`.
    pub fn tool(mut self, tool: SampleTool) -> Self {
        self.request.tools.push(tool);
        self
    }

    /// Sets whether the model must use tools, or must not.
    pub fn tool_choice(mut self, choice: ToolChoice) -> Self {
        self.request.tool_choice = Some(choice);
        self
    }

    /// Sets the purpose of the request, for those who review it.
    pub fn purpose(mut self, purpose: impl Into<String>) -> Self {
        self.request.purpose = Some(purpose.into());
        self
    }

    /// As [`Question::key`].
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Asks the model and waits for its answer.
    ///
    /// # Errors
    /// See [`ClientError`]; `?` ends the call with the matching [`ToolError`](crate::ToolError).
    pub fn ask(self) -> Result<SampleAnswer, ClientError> {
        self.into_question().ask()
    }
}

impl IntoQuestion for Sample {
    type Answer = SampleAnswer;

    fn into_question(self) -> Question<SampleAnswer> {
        let mut question = Question::new(wit::Question::Sample(self.request), |answer| match answer {
            wit::Answer::Sample(answer) => Ok(answer),
            _ => Err(ClientError::another_answer()),
        });
        question.key = self.key;
        question
    }
}

impl SampleAnswer {
    /// All texts of the answer, joined.
    pub fn text(&self) -> String {
        let text = |content: &SampleContent| match content {
            SampleContent::Text(text) => Some(text.clone()),
            _ => None,
        };
        self.content.iter().filter_map(text).collect::<Vec<_>>().join("\n")
    }

    /// The tools that the model asks for; empty when it has answered.
    pub fn tool_uses(&self) -> impl Iterator<Item = &ToolUse> {
        self.content.iter().filter_map(|content| match content {
            SampleContent::ToolUse(wanted) => Some(wanted),
            _ => None,
        })
    }
}

impl From<SampleAnswer> for SampleMessage {
    fn from(answer: SampleAnswer) -> Self {
        Self { role: answer.role, content: answer.content }
    }
}

impl SampleTool {
    /// A tool whose input is an object of this type.
    pub fn new<T: JsonSchema>(name: impl Into<String>, description: impl Into<String>) -> Self {
        let description = Some(description.into());
        Self { name: name.into(), description, input_schema: schema::input::<T>() }
    }
}

impl ToolUse {
    /// The input that the model chose.
    ///
    /// # Errors
    /// [`ClientError::UnexpectedAnswer`] when it is not a `T`, since models make mistakes.
    pub fn arguments<T: DeserializeOwned>(&self) -> Result<T, ClientError> {
        serde_json::from_str(&self.input).map_err(|error| ClientError::UnexpectedAnswer(error.to_string()))
    }

    /// A successful outcome, with the tool's output.
    pub fn succeeded(&self, content: impl IntoContent) -> ToolOutcome {
        self.outcome(content.into_content(), false)
    }

    /// A failed outcome, with the reason for the model.
    pub fn failed(&self, why: impl fmt::Display) -> ToolOutcome {
        self.outcome(Content::text(why.to_string()), true)
    }

    fn outcome(&self, content: Content, is_error: bool) -> ToolOutcome {
        ToolOutcome { id: self.id.clone(), content: vec![content], structured: None, is_error }
    }
}

impl SampleContent {
    /// An image, such as `image/png`.
    pub fn image(mime_type: impl Into<String>, data: Vec<u8>) -> Self {
        Self::Image(Blob { mime_type: mime_type.into(), data })
    }

    /// Sound, such as `audio/wav`.
    pub fn audio(mime_type: impl Into<String>, data: Vec<u8>) -> Self {
        Self::Audio(Blob { mime_type: mime_type.into(), data })
    }
}

impl From<String> for SampleContent {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for SampleContent {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<&String> for SampleContent {
    fn from(text: &String) -> Self {
        Self::Text(text.clone())
    }
}
