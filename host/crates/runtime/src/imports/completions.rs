//! `completions`: suggestions for arguments.

/// What the argument belongs to.
#[derive(Debug, Clone, PartialEq)]
pub enum CompletionTarget {
    /// A prompt, by its name within the plugin.
    Prompt(String),
    Template(String),
}

#[derive(Debug, Clone, PartialEq)]
pub struct CompletionQuery {
    pub of: CompletionTarget,
    pub argument: String,
    pub value: String,
    /// Arguments that are already filled in.
    pub context: Vec<(String, String)>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Completion {
    /// Best first.
    pub values: Vec<String>,
    /// The number of all suggestions, when known.
    pub total: Option<u64>,
    pub has_more: bool,
}
