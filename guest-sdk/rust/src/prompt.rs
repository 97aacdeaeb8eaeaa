//! Conversion from a function's result to the messages of a prompt, and the types of its arguments.

use std::borrow::Cow;

use crate::{IntoContent, PromptMessage, PromptResult, Role, ToolError};

/// Types that a prompt's function may return.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the result of a prompt",
    label = "not messages",
    note = "return a string, which becomes one message of the user's, a `PromptMessage` or several of them, or a `PromptResult`"
)]
pub trait IntoPrompt {
    /// Converts the value to a result.
    fn into_prompt(self) -> PromptResult;
}

impl PromptMessage {
    /// A message from the user.
    pub fn user(content: impl IntoContent) -> Self {
        Self { role: Role::User, content: content.into_content() }
    }

    /// A message from the model.
    pub fn assistant(content: impl IntoContent) -> Self {
        Self { role: Role::Assistant, content: content.into_content() }
    }
}

impl PromptResult {
    /// All texts of the messages, joined by newlines.
    pub fn all_text(&self) -> String {
        let texts: Vec<&str> = self.messages.iter().filter_map(|message| message.content.as_text()).collect();
        texts.join("\n")
    }
}

impl IntoPrompt for PromptResult {
    fn into_prompt(self) -> PromptResult {
        self
    }
}

impl IntoPrompt for Vec<PromptMessage> {
    fn into_prompt(self) -> PromptResult {
        PromptResult { description: None, messages: self }
    }
}

impl<const N: usize> IntoPrompt for [PromptMessage; N] {
    fn into_prompt(self) -> PromptResult {
        Vec::from(self).into_prompt()
    }
}

impl IntoPrompt for PromptMessage {
    fn into_prompt(self) -> PromptResult {
        [self].into_prompt()
    }
}

macro_rules! texts {
    ($($ty:ty),+) => {$(
        impl IntoPrompt for $ty {
            fn into_prompt(self) -> PromptResult {
                PromptMessage::user(self).into_prompt()
            }
        }
    )+};
}

texts!(String, &str, Cow<'_, str>);

/// Types that an argument of a prompt can have.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an argument of a prompt",
    label = "not a text",
    note = "arguments of prompts are texts: take a `String`, or an `Option<String>` for one that may be left out"
)]
pub trait PromptText: Sized {
    /// Whether the argument is required.
    const REQUIRED: bool;

    /// Finds the argument by its name.
    ///
    /// # Errors
    /// When the argument is required and missing.
    fn find(arguments: &[(String, String)], name: &str) -> Result<Self, ToolError>;
}

impl PromptText for Option<String> {
    const REQUIRED: bool = false;

    fn find(arguments: &[(String, String)], name: &str) -> Result<Self, ToolError> {
        Ok(arguments.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone()))
    }
}

impl PromptText for String {
    const REQUIRED: bool = true;

    fn find(arguments: &[(String, String)], name: &str) -> Result<Self, ToolError> {
        let missing = || ToolError::invalid(format_args!("`{name}` is missing"));
        Option::find(arguments, name)?.ok_or_else(missing)
    }
}
