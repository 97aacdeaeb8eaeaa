//! Prompts that a plugin offers, as in WIT `prompts`.

use super::{Content, Icon, Role};
use serde::{Deserialize, Serialize};

/// An argument of a prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PromptArgument {
    /// Unique within the prompt.
    pub name: String,
    /// For people.
    pub title: Option<String>,
    /// What it means.
    pub description: Option<String>,
    /// Whether it must be given.
    pub required: bool,
}

/// A prompt as its plugin describes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Prompt {
    /// Unique within the plugin.
    pub name: String,
    /// For people.
    pub title: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// In the plugin's order, which is the order to ask them in.
    pub arguments: Vec<PromptArgument>,
    /// Pictures.
    pub icons: Vec<Icon>,
}

/// One message of a filled-in prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptMessage {
    /// Who speaks.
    pub role: Role,
    /// What.
    pub content: Content,
}

/// A filled-in prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptResult {
    /// What it is for.
    pub description: Option<String>,
    /// The conversation to begin with.
    pub messages: Vec<PromptMessage>,
}
