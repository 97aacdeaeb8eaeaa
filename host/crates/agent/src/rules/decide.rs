//! Decides by the rules of one file: the first rule that matches decides.

use super::rule::{
    AgentRule, ApprovalPolicy, CrossServerRule, FormRule, LocatedRule, PageRule, QuestionRule, RuleMatch,
    SamplingReview, ToolRule,
};
use crate::transcript::ChunkPolicy;
use policy::Origin;
use std::path::PathBuf;

/// The rules of one file, in the order of the file.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    pub(super) file: String,
    pub(super) tools: Vec<LocatedRule<ToolRule>>,
    pub(super) reactions: Vec<LocatedRule<ToolRule>>,
    pub(super) forms: Vec<LocatedRule<QuestionRule<FormRule>>>,
    pub(super) pages: Vec<LocatedRule<QuestionRule<PageRule>>>,
    pub(super) sampling: Vec<LocatedRule<QuestionRule<SamplingReview>>>,
    pub(super) chunks: Vec<LocatedRule<QuestionRule<ChunkPolicy>>>,
    pub(super) offers: Vec<LocatedRule<CrossServerRule>>,
    pub(super) roots: Vec<PathBuf>,
}

/// The source of a decision when no rule matches.
const DEFAULT: &str = "the default, as no rule matches";

impl Rules {
    /// Decides about a reverse call of `tool` by a server. `read_only` is what the tool's origin says of it.
    pub fn tool(&self, server: &str, tool: &str, read_only: bool, origin: &Origin) -> RuleMatch<AgentRule> {
        let is_own = match origin {
            Origin::Component(_) => true,
            Origin::Client | Origin::Upstream(_) | Origin::Model | Origin::User => false,
        };
        self.approval(&self.tools, server, tool, |trust_hints| read_only && (is_own || trust_hints))
    }

    /// Decides about a call that an event of a server would start.
    pub fn reaction(&self, server: &str, event: &str) -> RuleMatch<AgentRule> {
        self.approval(&self.reactions, server, event, |_| false)
    }

    fn approval(
        &self,
        rules: &[LocatedRule<ToolRule>],
        server: &str,
        name: &str,
        changes_nothing: impl Fn(bool) -> bool,
    ) -> RuleMatch<AgentRule> {
        let found = rules.iter().find(|located| located.rule.server.covers(server) && located.rule.name.covers(name));
        self.matched(found.map(|located| located.line), || match found.map(|located| &located.rule.approval) {
            Some(ApprovalPolicy::Allow) => AgentRule::Allow,
            Some(ApprovalPolicy::Auto { trust_hints }) if changes_nothing(*trust_hints) => AgentRule::Allow,
            Some(ApprovalPolicy::Auto { .. } | ApprovalPolicy::Ask) | None => AgentRule::Ask,
            Some(ApprovalPolicy::OncePerTask) => AgentRule::OncePerTask,
            Some(ApprovalPolicy::Deny(reason)) => AgentRule::Deny(reason.clone()),
        })
    }

    pub fn form(&self, server: &str) -> RuleMatch<FormRule> {
        self.question(&self.forms, server, FormRule::Ask)
    }

    /// Decides about opening a page on `host`. A rule with a list of hosts matches only those hosts. If an `ask` rule
    /// with other hosts is passed over and no later rule matches, the page is declined.
    pub fn page(&self, server: &str, host: &str) -> RuleMatch<PageRule> {
        let mut listed = None;
        for located in self.pages.iter().filter(|located| located.rule.server.covers(server)) {
            let covered =
                located.rule.hosts.is_empty() || located.rule.hosts.iter().any(|pattern| pattern.covers(host));
            match (covered, located.rule.action) {
                (true, rule) => return self.matched(Some(located.line), || rule),
                // A list of hosts to ask about excludes all others.
                (false, PageRule::Ask) => listed = listed.or(Some(located.line)),
                (false, PageRule::Decline) => {}
            }
        }
        self.matched(listed, || if listed.is_some() { PageRule::Decline } else { PageRule::Ask })
    }

    /// Decides about a server's requests to a model. Default: the user reviews the request and the answer.
    pub fn sampling(&self, server: &str) -> RuleMatch<SamplingReview> {
        self.question(&self.sampling, server, SamplingReview::Both)
    }

    /// What the agent's model sees of a server's chunks.
    pub fn chunks(&self, server: &str) -> ChunkPolicy {
        self.question(&self.chunks, server, ChunkPolicy::default()).rule
    }

    /// Whether a server may call this tool of another server. Default: no.
    pub fn offers(&self, server: &str, tool: &str) -> bool {
        self.offers.iter().any(|located| located.rule.server.covers(server) && located.rule.tool.covers(tool))
    }

    /// Folders that servers may see as roots.
    pub fn roots(&self) -> &[PathBuf] {
        &self.roots
    }

    /// Whether forms have rules, so that servers may ask even when no user is present.
    pub fn has_form_rules(&self) -> bool {
        !self.forms.is_empty()
    }

    /// Whether pages have rules.
    pub fn has_page_rules(&self) -> bool {
        !self.pages.is_empty()
    }

    /// Whether a model may answer any server without review.
    pub fn allows_unreviewed_sampling(&self) -> bool {
        self.sampling.iter().any(|located| located.rule.action == SamplingReview::None)
    }

    /// The number of rules, without roots.
    pub fn count(&self) -> usize {
        let questions = self.forms.len() + self.pages.len() + self.sampling.len();
        self.tools.len() + self.reactions.len() + questions + self.chunks.len() + self.offers.len()
    }

    fn question<T: Clone>(&self, rules: &[LocatedRule<QuestionRule<T>>], server: &str, default: T) -> RuleMatch<T> {
        let found = rules.iter().find(|located| located.rule.server.covers(server));
        self.matched(found.map(|located| located.line), || found.map_or(default, |located| located.rule.action.clone()))
    }

    fn matched<T>(&self, line: Option<usize>, rule: impl FnOnce() -> T) -> RuleMatch<T> {
        let source = line.map_or_else(|| DEFAULT.to_owned(), |line| format!("line {line} of {}", self.file));
        RuleMatch { rule: rule(), source }
    }
}
