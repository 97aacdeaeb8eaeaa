//! Conversion from a function's result to the result of a call.

use schemars::JsonSchema;
use serde::Serialize;

use crate::{Content, ContentData, EmbeddedResource, ResourceLink, ToolError, ToolResult, schema};

/// Types that a tool may return directly. Any other type is returned as JSON, see [`Json`].
///
/// Tools need not name this trait: `#[plugin]` selects it, or `Json`, by the type.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the result of a tool",
    note = "return (), a string, `Content`, `Vec<Content>` or `ToolResult`, or derive `serde::Serialize` and `schemars::JsonSchema` \
            for your own type to return it as structured content"
)]
pub trait IntoToolResult {
    /// JSON Schema of the structured content; `None` when there is none.
    fn output_schema() -> Option<String> {
        None
    }

    /// Converts the value to a result.
    ///
    /// # Errors
    /// When the value cannot be written as JSON.
    fn into_tool_result(self) -> Result<ToolResult, ToolError>;
}

/// A value returned as JSON: always as text, and also as structured content with a schema if its schema is an object.
#[derive(Clone, Debug, PartialEq)]
pub struct Json<T>(pub T);

impl<T: Serialize + JsonSchema> IntoToolResult for Json<T> {
    fn output_schema() -> Option<String> {
        schema::output::<T>()
    }

    fn into_tool_result(self) -> Result<ToolResult, ToolError> {
        let json = serde_json::to_string(&self.0)
            .map_err(|error| ToolError::failed(format_args!("the result cannot be written as JSON: {error}")))?;
        // Only objects can be structured content. A type whose schema is an object has no other values.
        let structured = json.starts_with('{').then(|| json.clone());
        Ok(ToolResult { structured, ..ToolResult::text(json) })
    }
}

impl ToolResult {
    /// A result with one text.
    pub fn text(text: impl Into<String>) -> Self {
        vec![Content::text(text)].into()
    }

    /// A failure with content of any kind.
    pub fn error(content: Vec<Content>) -> Self {
        Self { is_error: true, ..content.into() }
    }

    /// All texts of the content, joined by newlines.
    pub fn all_text(&self) -> String {
        let texts: Vec<&str> = self.content.iter().filter_map(Content::as_text).collect();
        texts.join("\n")
    }
}

impl From<Vec<Content>> for ToolResult {
    fn from(content: Vec<Content>) -> Self {
        Self { content, structured: None, is_error: false }
    }
}

impl IntoToolResult for ToolResult {
    fn into_tool_result(self) -> Result<ToolResult, ToolError> {
        Ok(self)
    }
}

impl IntoToolResult for Vec<Content> {
    fn into_tool_result(self) -> Result<ToolResult, ToolError> {
        Ok(self.into())
    }
}

impl IntoToolResult for () {
    fn into_tool_result(self) -> Result<ToolResult, ToolError> {
        Ok(Vec::new().into())
    }
}

macro_rules! one_piece {
    ($($ty:ty),*) => {$(
        impl IntoToolResult for $ty {
            fn into_tool_result(self) -> Result<ToolResult, ToolError> {
                Ok(vec![crate::IntoContent::into_content(self)].into())
            }
        }
    )*};
}

one_piece!(String, &str, std::borrow::Cow<'_, str>, Content, ContentData, ResourceLink, EmbeddedResource);
