//! Suggestions while a user fills in an argument of a prompt, or a variable of a resource template.
//!
//! `#[arg(complete = ...)]` on the parameter names the source of the values: a list of them, or a function.
//!
//! ```
//! # #[portcullis_guest::plugin(name = "demo", description = "Demo.")]
//! # mod demo {
//! use portcullis_guest::completion::Typed;
//!
//! /// Explains a word.
//! #[prompt]
//! fn explain(
//!     #[arg(complete = ["English", "Norwegian"])] language: String,
//!     #[arg(complete = words)] word: String,
//! ) -> String {
//!     format!("What does `{word}` mean in {language}?")
//! }
//!
//! fn words(typed: &Typed) -> Vec<String> {
//!     match typed.other("language") {
//!         Some("Norwegian") => typed.matching(["borg", "bru"]),
//!         _ => typed.matching(["bridge", "castle"]),
//!     }
//! }
//! # }
//! use portcullis_guest::testing;
//! assert_eq!(testing::complete_prompt(&demo::PLUGIN, "explain", "language", "nor").unwrap().values, ["Norwegian"]);
//! ```

use crate::{Context, ToolError};

pub use crate::bindings::completions::Completion;

/// The most values that a client receives.
const MOST: usize = 100;

/// The text typed so far of an argument, and its context.
#[derive(Clone, Copy, Debug)]
pub struct Typed<'a> {
    /// The context of the call.
    pub ctx: &'a Context,
    /// The text typed so far.
    pub value: &'a str,
    others: &'a [(String, String)],
}

impl<'a> Typed<'a> {
    pub(crate) fn new(ctx: &'a Context, value: &'a str, others: &'a [(String, String)]) -> Self {
        Self { ctx, value, others }
    }

    /// The value of another argument, if it is filled in already.
    pub fn other(&self, name: &str) -> Option<&'a str> {
        self.others.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The candidates that start with the typed text, ignoring case.
    pub fn matching<S: Into<String>>(&self, candidates: impl IntoIterator<Item = S>) -> Vec<String> {
        let start = self.value.to_lowercase();
        candidates
            .into_iter()
            .map(Into::into)
            .filter(|candidate| candidate.to_lowercase().starts_with(&start))
            .collect()
    }
}

/// Types that a suggesting function may return.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be suggestions",
    label = "not suggestions",
    note = "return a `Vec` of strings, a `Completion`, or a `Result` of these"
)]
pub trait IntoCompletion {
    /// Converts the value to suggestions.
    ///
    /// # Errors
    /// When the function failed.
    fn into_completion(self) -> Result<Completion, ToolError>;
}

impl IntoCompletion for Completion {
    fn into_completion(self) -> Result<Completion, ToolError> {
        Ok(self)
    }
}

impl<S: Into<String>> IntoCompletion for Vec<S> {
    fn into_completion(self) -> Result<Completion, ToolError> {
        let (total, has_more) = (Some(self.len() as u64), self.len() > MOST);
        Ok(Completion { values: self.into_iter().take(MOST).map(Into::into).collect(), total, has_more })
    }
}

impl<T: IntoCompletion, E: Into<ToolError>> IntoCompletion for Result<T, E> {
    fn into_completion(self) -> Result<Completion, ToolError> {
        self.map_err(Into::into)?.into_completion()
    }
}
