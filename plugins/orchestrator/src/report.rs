//! What comes of it: the answers in the order of the parts, and who gave them.

use portcullis_guest::agent_tools::Origin;
use schemars::JsonSchema;
use serde::Serialize;

/// All answers together.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Report {
    /// In the order of the request.
    pub(crate) parts: Vec<Part>,
    /// How many of them have an answer.
    pub(crate) answered: usize,
    /// Sources that were given up, and why.
    pub(crate) given_up: Vec<Trouble>,
}

/// One part of the request.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Part {
    pub(crate) question: String,
    /// None when no source had one.
    pub(crate) answer: Option<Answer>,
    /// What went wrong on the way, in its order.
    pub(crate) troubles: Vec<Trouble>,
}

/// An answer and where it comes from. Untrusted: the words of somebody else.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Answer {
    pub(crate) text: String,
    /// The tool that gave it.
    pub(crate) source: String,
    /// Whose tool that is.
    pub(crate) origin: String,
    /// Not to be passed on.
    pub(crate) private: bool,
}

/// A source that gave no answer.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Trouble {
    pub(crate) source: String,
    pub(crate) why: String,
}

/// In words.
pub(crate) fn origin(origin: &Origin) -> String {
    match origin {
        Origin::Client => "the client".to_owned(),
        Origin::Component(name) => format!("the component {name}"),
        Origin::Upstream(name) => format!("the server {name}"),
        Origin::Model => "the client's model".to_owned(),
        Origin::User => "the client's user".to_owned(),
    }
}
