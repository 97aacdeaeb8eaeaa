//! Suggestions while somebody types, as in WIT `completions`.

/// Whose argument is being filled in.
#[derive(Debug, Clone, PartialEq)]
pub enum Completing {
    /// A prompt, by the plugin's own name for it.
    Prompt(String),
    /// A resource template.
    Template(String),
}

/// What has been typed so far.
#[derive(Debug, Clone, PartialEq)]
pub struct CompletionQuery {
    /// Whose argument.
    pub of: Completing,
    /// Which.
    pub argument: String,
    /// Its beginning.
    pub value: String,
    /// Other arguments that are filled in already.
    pub context: Vec<(String, String)>,
}

/// What it might become.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Completion {
    /// Best first.
    pub values: Vec<String>,
    /// How many there are in all, when known.
    pub total: Option<u64>,
    /// There are more.
    pub has_more: bool,
}
