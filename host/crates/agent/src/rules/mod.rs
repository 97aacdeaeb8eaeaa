//! What may happen on the agent's side without a person: rules in a file, the first that fits decides.
//!
//! Nothing here asks or waits. What no rule speaks of is put to a person.

mod file;
mod glob;

pub use file::RulesError;
pub use glob::{Glob, GlobError};

use super::view::ChunkPolicy;
use file::{Elicitation, Rule};
use policy::HostPattern;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::path::PathBuf;

/// What is decided, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct Ruled<T> {
    /// What.
    pub what: T,
    /// The rule, for whoever wonders: such as `line 7 of rules.toml`.
    pub by: String,
}

/// About a reverse call, or a call that an event is to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Approval {
    /// It may happen.
    Allow,
    /// A person decides, each time.
    Ask,
    /// A person decides once for each call of the agent's.
    OncePerTask,
    /// It may not; a sentence for the server.
    Deny(String),
}

/// About a form.
#[derive(Debug, Clone, PartialEq)]
pub enum FormRule {
    /// A person fills it in.
    Ask,
    /// Nobody does.
    Decline,
    /// These values, for the fields that the form has.
    Answer(Map<String, Value>),
}

/// About a page that a server wants to be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageRule {
    /// A person decides.
    Ask,
    /// It is not.
    Decline,
}

/// About a request to a model: when a person looks at it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Review {
    /// Before the model sees it.
    Before,
    /// Before the server sees the answer.
    After,
    /// Twice.
    Both,
    /// Never.
    None,
    /// No model is asked at all.
    Reject,
}

impl Review {
    /// Whether a person looks at the request.
    pub fn before(self) -> bool {
        matches!(self, Review::Before | Review::Both)
    }

    /// Whether a person looks at the answer.
    pub fn after(self) -> bool {
        matches!(self, Review::After | Review::Both)
    }
}

/// The rules of one file, in its order.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    file: String,
    tools: Vec<Rule<ToolRule>>,
    reactions: Vec<Rule<ToolRule>>,
    forms: Vec<Rule<Elicitation<FormRule>>>,
    pages: Vec<Rule<Elicitation<PageRule>>>,
    sampling: Vec<Rule<Elicitation<Review>>>,
    chunks: Vec<Rule<Elicitation<ChunkPolicy>>>,
    offers: Vec<Rule<OfferRule>>,
    roots: Vec<PathBuf>,
}

#[derive(Debug, Clone)]
struct ToolRule {
    server: Glob,
    /// A tool, or an event.
    name: Glob,
    approval: Approves,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Approves {
    Never,
    Ask,
    OncePerTask,
    Auto,
    Deny(String),
}

#[derive(Debug, Clone)]
struct OfferRule {
    server: Glob,
    tool: Glob,
}

/// What decides when no rule fits.
const DEFAULT: &str = "the default, as no rule fits";

impl Rules {
    /// About a reverse call of `tool` by a server; `read_only` is what the tool says of itself.
    pub fn tool(&self, server: &str, tool: &str, read_only: bool) -> Ruled<Approval> {
        self.approval(&self.tools, server, tool, read_only)
    }

    /// About a call that an event of a server is to start.
    pub fn reaction(&self, server: &str, event: &str) -> Ruled<Approval> {
        self.approval(&self.reactions, server, event, false)
    }

    fn approval(&self, rules: &[Rule<ToolRule>], server: &str, name: &str, read_only: bool) -> Ruled<Approval> {
        let found = rules.iter().find(|rule| rule.what.server.covers(server) && rule.what.name.covers(name));
        self.ruled(found.map(|rule| rule.line), || match found.map(|rule| &rule.what.approval) {
            Some(Approves::Never) => Approval::Allow,
            Some(Approves::Auto) if read_only => Approval::Allow,
            Some(Approves::Auto | Approves::Ask) | None => Approval::Ask,
            Some(Approves::OncePerTask) => Approval::OncePerTask,
            Some(Approves::Deny(reason)) => Approval::Deny(reason.clone()),
        })
    }

    /// About a form of a server.
    pub fn form(&self, server: &str) -> Ruled<FormRule> {
        self.elicitation(&self.forms, server, FormRule::Ask)
    }

    /// About a page that a server wants to be opened, on this host. A rule that lists hosts is about those only; a page
    /// elsewhere goes on to the next rule, and one that only `ask` rules for other hosts speak of is declined.
    pub fn page(&self, server: &str, host: &str) -> Ruled<PageRule> {
        let mut listed = None;
        for rule in self.pages.iter().filter(|rule| rule.what.server.covers(server)) {
            let covered = rule.what.hosts.is_empty() || rule.what.hosts.iter().any(|pattern| pattern.covers(host));
            match (covered, rule.what.what) {
                (true, what) => return self.ruled(Some(rule.line), || what),
                // Who lists the hosts that may be asked about has said no to the others.
                (false, PageRule::Ask) => listed = listed.or(Some(rule.line)),
                (false, PageRule::Decline) => {}
            }
        }
        self.ruled(listed, || if listed.is_some() { PageRule::Decline } else { PageRule::Ask })
    }

    /// About requests of a server to a model. A person looks twice unless a rule says less.
    pub fn sampling(&self, server: &str) -> Ruled<Review> {
        self.elicitation(&self.sampling, server, Review::Both)
    }

    /// What an agent's model comes to see of a server's chunks.
    pub fn chunks(&self, server: &str) -> ChunkPolicy {
        self.elicitation(&self.chunks, server, ChunkPolicy::default()).what
    }

    /// Whether a server may be offered this tool of another server; not without a rule.
    pub fn offers(&self, server: &str, tool: &str) -> bool {
        self.offers.iter().any(|rule| rule.what.server.covers(server) && rule.what.tool.covers(tool))
    }

    /// Folders that servers may know of.
    pub fn roots(&self) -> &[PathBuf] {
        &self.roots
    }

    /// Whether any form has a rule, so that servers may ask although nobody is there.
    pub fn speaks_of_forms(&self) -> bool {
        !self.forms.is_empty()
    }

    /// Whether any page has one.
    pub fn speaks_of_pages(&self) -> bool {
        !self.pages.is_empty()
    }

    /// Whether a model may answer anybody without a person who looks.
    pub fn lets_models_answer(&self) -> bool {
        self.sampling.iter().any(|rule| rule.what.what == Review::None)
    }

    /// Rules, not counting roots.
    pub fn count(&self) -> usize {
        let asked = self.forms.len() + self.pages.len() + self.sampling.len();
        self.tools.len() + self.reactions.len() + asked + self.chunks.len() + self.offers.len()
    }

    fn elicitation<T: Clone>(&self, rules: &[Rule<Elicitation<T>>], server: &str, default: T) -> Ruled<T> {
        let found = rules.iter().find(|rule| rule.what.server.covers(server));
        self.ruled(found.map(|rule| rule.line), || found.map_or(default, |rule| rule.what.what.clone()))
    }

    fn ruled<T>(&self, line: Option<usize>, what: impl FnOnce() -> T) -> Ruled<T> {
        let by = line.map_or_else(|| DEFAULT.to_owned(), |line| format!("line {line} of {}", self.file));
        Ruled { what: what(), by }
    }
}

#[cfg(test)]
mod tests;
