//! Why an offer is refused.

use super::limits::{MAX_NAME, MAX_PROSE, MAX_TEXT};
use policy::KEPT_OF_NAME;
use runtime::imports::SchemaError;

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum OfferError {
    #[error("it offers nothing: no tool, no resource, no resource template, no prompt")]
    Empty,
    #[error("it offers {count} {kind}, more than {limit}")]
    TooMany { kind: &'static str, count: usize, limit: usize },
    #[error("its {kind}' texts are {size} bytes in all, more than {MAX_TEXT}")]
    TooMuchText { kind: &'static str, size: usize },
    #[error("the {kind} name {name:?} is not 1 to {MAX_NAME} of A-Z a-z 0-9 _ -")]
    InvalidName { kind: &'static str, name: String },
    #[error("it offers two {kind} named `{name}`")]
    Duplicate { kind: &'static str, name: String },
    #[error(
        "its {kind} `{one}` and `{other}` may become one: clients fold case, `_` and `-` in names, and of long ones they keep \
         {KEPT_OF_NAME} characters; choose other names"
    )]
    Folded { kind: &'static str, one: String, other: String },
    #[error("the {part} of {subject} {problem}")]
    InvalidText { subject: String, part: &'static str, problem: String },
    #[error("the {which} schema of tool `{tool}` is refused: {error}")]
    InvalidSchema { tool: String, which: &'static str, error: SchemaError },
    #[error("the {which} schema of tool `{tool}` is refused: {problem}")]
    InvalidSchemaText { tool: String, which: &'static str, problem: String },
    #[error("its titles and descriptions are {size} bytes in all, more than {MAX_PROSE}")]
    TooMuchProse { size: usize },
}
