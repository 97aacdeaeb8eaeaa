//! Rules and their results.

use policy::Glob;
use policy::HostPattern;
use serde::Deserialize;
use serde_json::{Map, Value};

/// A matching rule.
#[derive(Debug, Clone, PartialEq)]
pub struct RuleMatch<T> {
    pub rule: T,
    /// Where the rule is, such as `line 7 of rules.toml`.
    pub source: String,
}

/// Decides about a reverse call, or about a call that an event starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentRule {
    Allow,
    /// The user decides each time.
    Ask,
    /// The user decides once for each call of the agent.
    OncePerTask,
    /// The call is refused, with a reason for the server.
    Deny(String),
}

/// Decides about a form.
#[derive(Debug, Clone, PartialEq)]
pub enum FormRule {
    Ask,
    Decline,
    /// Values for the fields; fields that the form does not have are left out.
    Answer(Map<String, Value>),
}

/// Decides about a page that a server asks the user to open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageRule {
    Ask,
    Decline,
}

/// When the user reviews a request to a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SamplingReview {
    /// Before the model gets the request.
    Before,
    /// Before the server gets the answer.
    After,
    Both,
    None,
    /// The request is refused.
    Reject,
}

impl SamplingReview {
    /// Whether the user reviews the request.
    pub fn is_before(self) -> bool {
        matches!(self, SamplingReview::Before | SamplingReview::Both)
    }

    /// Whether the user reviews the answer.
    pub fn is_after(self) -> bool {
        matches!(self, SamplingReview::After | SamplingReview::Both)
    }
}

/// A rule about reverse calls or about reactions.
#[derive(Debug, Clone)]
pub(super) struct ToolRule {
    pub(super) server: Glob,
    /// A tool or an event.
    pub(super) name: Glob,
    pub(super) approval: ApprovalPolicy,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ApprovalPolicy {
    Allow,
    Ask,
    OncePerTask,
    /// Tools that change nothing are allowed. What other servers state about their own tools counts only with `trust_hints`.
    Auto {
        trust_hints: bool,
    },
    Deny(String),
}

/// Offers a tool of one server to another server.
#[derive(Debug, Clone)]
pub(super) struct CrossServerRule {
    pub(super) server: Glob,
    pub(super) tool: Glob,
}

/// A rule and its line in the file.
#[derive(Debug, Clone)]
pub(super) struct LocatedRule<T> {
    pub(super) line: usize,
    pub(super) rule: T,
}

/// A rule about the questions of a server, or about its chunks.
#[derive(Debug, Clone)]
pub(super) struct QuestionRule<T> {
    pub(super) server: Glob,
    pub(super) hosts: Vec<HostPattern>,
    pub(super) action: T,
}
