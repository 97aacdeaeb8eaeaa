//! Tools and their results.

use super::content::Content;
use serde::{Deserialize, Serialize};

/// Hints for the client about the tool's behaviour.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolAnnotations {
    pub read_only: Option<bool>,
    pub destructive: Option<bool>,
    pub idempotent: Option<bool>,
    pub open_world: Option<bool>,
}

/// How long calls of a tool usually take. Part of a tool's definition and so of its digest; durable tasks will use it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Execution {
    Inline,
    MayRunLong,
    /// Always run as a task where the client supports tasks.
    TaskOnly,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Icon {
    /// `https:` or `data:`.
    pub src: String,
    pub mime_type: Option<String>,
    /// Such as `48x48`.
    pub sizes: Vec<String>,
}

/// A tool as its plugin describes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tool {
    /// Unique within the plugin; for an agent tool, `<agent plugin>.<tool>`.
    pub name: String,
    pub title: Option<String>,
    pub description: String,
    /// JSON text.
    pub input_schema: String,
    /// JSON text.
    pub output_schema: Option<String>,
    pub annotations: ToolAnnotations,
    pub execution: Execution,
    pub icons: Vec<Icon>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    pub content: Vec<Content>,
    /// JSON text.
    pub structured: Option<String>,
    /// The tool reports a failure.
    pub is_error: bool,
}
