//! Questions and answers, as in WIT `client`.

use super::form::FormSchema;
use crate::imports::{Blob, Content, Role};

/// What the client of a call can answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Abilities {
    /// Forms.
    pub form: bool,
    /// Pages.
    pub url: bool,
    /// Sampling.
    pub sample: bool,
    /// Sampling with tools.
    pub sample_tools: bool,
    /// Roots.
    pub roots: bool,
}

/// One kind of question that some clients cannot answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the abilities")]
pub enum Ability {
    Form,
    Url,
    Sample,
    SampleTools,
    Roots,
}

impl Ability {
    /// As the protocol names it.
    pub fn name(self) -> &'static str {
        match self {
            Ability::Form => "elicitation.form",
            Ability::Url => "elicitation.url",
            Ability::Sample => "sampling",
            Ability::SampleTools => "sampling.tools",
            Ability::Roots => "roots",
        }
    }
}

impl Abilities {
    /// Whether this one is among them.
    pub fn has(&self, ability: Ability) -> bool {
        match ability {
            Ability::Form => self.form,
            Ability::Url => self.url,
            Ability::Sample => self.sample,
            Ability::SampleTools => self.sample_tools,
            Ability::Roots => self.roots,
        }
    }

    /// With this one added.
    pub fn with(mut self, ability: Ability) -> Self {
        match ability {
            Ability::Form => self.form = true,
            Ability::Url => self.url = true,
            Ability::Sample => self.sample = true,
            Ability::SampleTools => (self.sample, self.sample_tools) = (true, true),
            Ability::Roots => self.roots = true,
        }
        self
    }

    /// Whether there are any.
    pub fn any(&self) -> bool {
        *self != Self::default()
    }
}

/// Where a user is sent.
#[derive(Debug, Clone, PartialEq)]
pub enum UrlTarget {
    /// The plugin's own choice.
    Address(String),
    /// The page of a connection that the operator has set up.
    Connect(String),
}

/// A question as the guest puts it.
#[derive(Debug, Clone, PartialEq)]
pub enum Question {
    /// A form; its schema is JSON text.
    Form {
        /// For the user.
        message: String,
        /// JSON text.
        schema: String,
    },
    /// A page.
    Url {
        /// For the user.
        message: String,
        /// Where.
        target: UrlTarget,
    },
    /// A request to a model.
    Sample(SampleRequest),
    /// The workspace.
    Roots,
}

/// A question that passed all checks: what goes out.
#[derive(Debug, Clone)]
pub enum Asked {
    /// A form.
    Form {
        /// For the user.
        message: String,
        /// Checked.
        schema: FormSchema,
    },
    /// A page.
    Url {
        /// For the user.
        message: String,
        /// The whole address.
        url: String,
        /// The account that is connected there, if it is such a page.
        connect: Option<String>,
    },
    /// A request to a model.
    Sample(SampleRequest),
    /// The workspace.
    Roots,
}

/// What the other side said to one question, not yet checked.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// To a form: the content is whatever the client sent.
    Form(Decision, Option<serde_json::Value>),
    /// To a page.
    Url(Decision),
    /// Of a model.
    Sample(SampleAnswer),
    /// The roots.
    Roots(Vec<Root>),
    /// Nothing under this question's key, or something of the wrong kind; says what.
    Missing(String),
    /// The client refused the question itself.
    Refused(String),
    /// The client failed.
    Failed(String),
}

/// A user's decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the protocol")]
pub enum Decision {
    Accept,
    Decline,
    Cancel,
}

/// A checked answer to a form.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "the names are those of WIT")]
pub enum FormAnswer {
    /// JSON text that matches the schema.
    Accepted(String),
    Declined,
    Cancelled,
}

/// A checked answer, as the guest gets it.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "the names are those of the questions")]
pub enum Answer {
    Form(FormAnswer),
    Url(Decision),
    Sample(SampleAnswer),
    Roots(Vec<Root>),
}

/// A request to a model.
#[derive(Debug, Clone, Default, PartialEq)]
#[allow(missing_docs, reason = "the names are those of WIT and the protocol")]
pub struct SampleRequest {
    pub messages: Vec<SampleMessage>,
    pub system_prompt: Option<String>,
    pub max_tokens: u32,
    pub temperature: Option<f64>,
    pub stop_sequences: Vec<String>,
    pub model: ModelPreferences,
    pub tools: Vec<SampleTool>,
    pub tool_choice: Option<ToolChoice>,
    pub purpose: Option<String>,
}

/// One message of the conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct SampleMessage {
    /// Whose.
    pub role: Role,
    /// Its pieces.
    pub content: Vec<SampleContent>,
}

/// A piece of a message.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "the names are those of WIT and the protocol")]
pub enum SampleContent {
    Text(String),
    Image(Blob),
    Audio(Blob),
    ToolUse(ToolUse),
    ToolResult(ToolOutcome),
}

/// A model wants a tool to be run.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "the names are those of WIT and the protocol")]
pub struct ToolUse {
    pub id: String,
    pub name: String,
    /// JSON text of an object.
    pub input: String,
}

/// What the tool gave.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "the names are those of WIT and the protocol")]
pub struct ToolOutcome {
    pub id: String,
    pub content: Vec<Content>,
    /// JSON text.
    pub structured: Option<String>,
    pub is_error: bool,
}

/// A tool the model may want.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "the names are those of WIT and the protocol")]
pub struct SampleTool {
    pub name: String,
    pub description: Option<String>,
    /// JSON text.
    pub input_schema: String,
}

/// Whether the model must.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the protocol")]
pub enum ToolChoice {
    Auto,
    Required,
    None,
}

/// Hints, 0 to 1.
#[derive(Debug, Clone, Default, PartialEq)]
#[allow(missing_docs, reason = "the names are those of WIT and the protocol")]
pub struct ModelPreferences {
    pub hints: Vec<String>,
    pub cost: Option<f64>,
    pub speed: Option<f64>,
    pub intelligence: Option<f64>,
}

/// What a model said.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "the names are those of WIT and the protocol")]
pub struct SampleAnswer {
    pub role: Role,
    pub content: Vec<SampleContent>,
    pub model: String,
    pub stop_reason: Option<String>,
}

/// A root of the client's workspace.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "the names are those of the protocol")]
pub struct Root {
    pub uri: String,
    pub name: Option<String>,
}

impl SampleRequest {
    /// Bytes of text and data, as charged.
    pub fn size(&self) -> u64 {
        let content = |content: &SampleContent| match content {
            SampleContent::Text(text) => text.len() as u64,
            SampleContent::Image(blob) | SampleContent::Audio(blob) => blob.data.len() as u64,
            SampleContent::ToolUse(tool) => tool.input.len() as u64,
            SampleContent::ToolResult(outcome) => outcome.content.iter().map(Content::size).sum(),
        };
        let messages: u64 = self.messages.iter().flat_map(|message| &message.content).map(content).sum();
        let tools: u64 = self.tools.iter().map(|tool| tool.input_schema.len() as u64).sum();
        messages + tools + self.system_prompt.as_ref().map_or(0, |text| text.len() as u64)
    }
}

impl Question {
    /// Bytes, as charged.
    pub fn size(&self) -> u64 {
        match self {
            Question::Form { message, schema } => (message.len() + schema.len()) as u64,
            Question::Url { message, target: UrlTarget::Address(text) | UrlTarget::Connect(text) } => {
                (message.len() + text.len()) as u64
            }
            Question::Sample(request) => request.size(),
            Question::Roots => 0,
        }
    }
}
