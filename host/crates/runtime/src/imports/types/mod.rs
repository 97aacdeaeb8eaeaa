//! WIT `types`: content, tools, calls and errors, in the host's own types.

mod call;
mod content;
mod error;
mod tool;

pub use call::CallContext;
pub use content::{
    Annotations, Blob, Content, ContentData, EmbeddedResource, ResourceBody, ResourceLink, Role, check_link,
};
pub use error::{BudgetKind, Exhaustion, GuestDenial, ToolError};
pub use tool::{Execution, Icon, Tool, ToolAnnotations, ToolResult};
