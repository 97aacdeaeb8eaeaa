//! `client`: questions to the other side of a call.

mod accept;
mod access;
mod check;
mod client_calls;
mod connecting;
mod error;
mod form;
mod model;
mod question;
mod question_counter;
mod question_record;
#[cfg(test)]
mod tests;
mod typed_fields;

pub use access::Client;
pub(crate) use access::ClientUsage;
pub use client_calls::{Author, ClientCalls, NoClient, QuestionBatch};
pub use error::ClientError;
pub use form::FormSchema;
pub use model::{ModelAnswer, ModelError, ModelProvider, TokenUsage};
pub use question::{
    Abilities, Ability, CheckedQuestion, ClientAnswer, ClientReply, Consent, FormAnswer, ModelPreferences, Question,
    Root, SampleAnswer, SampleContent, SampleMessage, SampleRequest, SampleTool, ToolChoice, ToolOutcome, ToolUse,
    UrlTarget,
};
pub use question_counter::count_questions;
