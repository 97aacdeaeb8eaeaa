//! Questions and answers.

use super::super::types::{Blob, Content, Role};
use super::form::FormSchema;
use serde::{Deserialize, Serialize};

/// The kinds of question that a client supports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Abilities {
    pub form: bool,
    pub url: bool,
    pub sample: bool,
    pub sample_tools: bool,
    pub roots: bool,
}

/// One kind of question that not all clients support.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ability {
    Form,
    Url,
    Sample,
    SampleTools,
    Roots,
}

impl Ability {
    /// The name in MCP.
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
    pub fn has(&self, ability: Ability) -> bool {
        match ability {
            Ability::Form => self.form,
            Ability::Url => self.url,
            Ability::Sample => self.sample,
            Ability::SampleTools => self.sample_tools,
            Ability::Roots => self.roots,
        }
    }

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

    pub fn any(&self) -> bool {
        *self != Self::default()
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum UrlTarget {
    Address(String),
    /// The page of a configured connection.
    Connect(String),
}

/// A question as the guest asks it.
#[derive(Debug, Clone, PartialEq)]
pub enum Question {
    Form {
        message: String,
        /// JSON text.
        schema: String,
    },
    Url {
        message: String,
        target: UrlTarget,
    },
    Sample(SampleRequest),
    Roots,
}

/// A question that passed all checks and may be sent.
#[derive(Debug, Clone, Serialize)]
pub enum CheckedQuestion {
    Form {
        message: String,
        /// Checked.
        schema: FormSchema,
    },
    Url {
        message: String,
        url: String,
        /// The connection, if this is the page of one.
        connect: Option<String>,
    },
    Sample(SampleRequest),
    Roots,
}

/// The client's reply to one question, not yet checked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ClientReply {
    /// The content is unchecked.
    Form(Consent, Option<serde_json::Value>),
    Url(Consent),
    Sample(SampleAnswer),
    Roots(Vec<Root>),
    /// No reply under this question's key, or one of the wrong kind.
    Missing(String),
    /// The client refused the question.
    Refused(String),
    Failed(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Consent {
    Accept,
    Decline,
    Cancel,
}

#[derive(Debug, Clone, PartialEq)]
pub enum FormAnswer {
    /// JSON text that matches the schema.
    Accepted(String),
    Declined,
    Cancelled,
}

/// A checked answer.
#[derive(Debug, Clone, PartialEq)]
pub enum ClientAnswer {
    Form(FormAnswer),
    Url(Consent),
    Sample(SampleAnswer),
    Roots(Vec<Root>),
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
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

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SampleMessage {
    pub role: Role,
    pub content: Vec<SampleContent>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum SampleContent {
    Text(String),
    Image(Blob),
    Audio(Blob),
    ToolUse(ToolUse),
    ToolResult(ToolOutcome),
}

/// A tool call that the model requests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolUse {
    pub id: String,
    pub name: String,
    /// JSON text of an object.
    pub input: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolOutcome {
    pub id: String,
    pub content: Vec<Content>,
    /// JSON text.
    pub structured: Option<String>,
    pub is_error: bool,
}

/// A tool that the model may request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SampleTool {
    pub name: String,
    pub description: Option<String>,
    /// JSON text.
    pub input_schema: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToolChoice {
    Auto,
    Required,
    None,
}

/// Values from 0 to 1.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelPreferences {
    pub hints: Vec<String>,
    pub cost: Option<f64>,
    pub speed: Option<f64>,
    pub intelligence: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SampleAnswer {
    pub role: Role,
    pub content: Vec<SampleContent>,
    pub model: String,
    pub stop_reason: Option<String>,
}

/// A root of the client's workspace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Root {
    pub uri: String,
    pub name: Option<String>,
}

impl SampleRequest {
    /// Bytes that are charged.
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
    /// Bytes that are charged.
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
