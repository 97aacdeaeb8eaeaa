//! `prompts`: prompts that a plugin offers.

use super::types::{Content, Icon, Role};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PromptArgument {
    /// Unique within the prompt.
    pub name: String,
    pub title: Option<String>,
    pub description: Option<String>,
    pub required: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Prompt {
    /// Unique within the plugin.
    pub name: String,
    pub title: Option<String>,
    pub description: Option<String>,
    /// In the order in which to ask for them.
    pub arguments: Vec<PromptArgument>,
    pub icons: Vec<Icon>,
}

/// One message of a prompt after its arguments were inserted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PromptMessage {
    pub role: Role,
    pub content: Content,
}

#[derive(Debug, Clone, PartialEq)]
pub struct PromptResult {
    pub description: Option<String>,
    pub messages: Vec<PromptMessage>,
}
