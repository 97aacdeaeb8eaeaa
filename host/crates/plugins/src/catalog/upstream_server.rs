//! What a server behind this host offers besides its tools: resources, resource templates and prompts.

use super::item_request::ItemRequest;
use async_trait::async_trait;
use policy::{BudgetUsage, PluginId, Side};
use runtime::imports::{AgentError, Completion, EmbeddedResource, PromptResult, ReverseCall};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::sync::Arc;

/// An entry of a list as the server wrote it, made safe to show.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedItem {
    /// The identifier by which the server knows it: the URI of a resource, the text of a template, the name of a prompt.
    pub key: String,
    /// All members of the entry, as the protocol names them.
    pub members: Map<String, Value>,
}

impl ListedItem {
    /// The name that people see.
    pub fn name(&self) -> &str {
        self.members.get("name").and_then(Value::as_str).unwrap_or(&self.key)
    }
}

/// What a server answered.
#[derive(Debug, Clone, PartialEq)]
pub enum ServerAnswer {
    /// None: there is no such resource.
    Resource(Option<Vec<EmbeddedResource>>),
    Prompt(PromptResult),
    Completion(Completion),
}

/// How a request ended.
pub struct ServerOutcome {
    pub answer: Result<ServerAnswer, AgentError>,
    /// The cost of what the server made this host run.
    pub spent: BudgetUsage,
    /// The `_meta` of its answer, without keys of the host's namespace.
    pub meta: Map<String, Value>,
}

/// Asks a server for its resources, prompts and completions.
#[async_trait]
pub trait ServerRequests: Send + Sync {
    /// Whether clients may read a resource of it.
    fn exposes(&self, uri: &str) -> bool;
    /// `call` carries the principal, the client and the limits of the request; it names no tool, and has no arguments.
    async fn request(&self, request: ItemRequest, call: ReverseCall) -> ServerOutcome;
}

/// A server behind this host, connected or not.
pub struct UpstreamServer {
    /// Its configured name, in the place of a plugin's.
    pub id: PluginId,
    pub requests: Arc<dyn ServerRequests>,
    pub prompts: Vec<Arc<ListedItem>>,
    /// Sorted by URI, each once.
    pub(super) resources: Vec<Arc<ListedItem>>,
    pub(super) templates: Vec<Arc<ListedItem>>,
    /// The texts that its templates begin with: sorted, and without those that begin with another one.
    beginnings: Vec<String>,
}

impl UpstreamServer {
    /// The resources and templates are those that clients may read.
    pub fn new(
        name: &str,
        requests: Arc<dyn ServerRequests>,
        mut resources: Vec<Arc<ListedItem>>,
        templates: Vec<Arc<ListedItem>>,
        prompts: Vec<Arc<ListedItem>>,
    ) -> Self {
        resources.sort_by(|a, b| a.key.cmp(&b.key));
        resources.dedup_by(|a, b| a.key == b.key);
        let mut beginnings: Vec<String> = Vec::new();
        for beginning in templates.iter().map(|template| beginning(&template.key)).collect::<BTreeSet<_>>() {
            if beginnings.last().is_none_or(|last| !beginning.starts_with(last)) {
                beginnings.push(beginning.to_owned());
            }
        }
        let id = PluginId { side: Side::Server, name: name.into() };
        Self { id, requests, prompts, resources, templates, beginnings }
    }

    /// Whether it lists the URI, or has a template that begins as the URI does. Only the server knows exactly which URIs a
    /// template stands for.
    pub(super) fn claims(&self, uri: &str) -> bool {
        self.resources.binary_search_by(|resource| resource.key.as_str().cmp(uri)).is_ok() || self.covers(uri)
    }

    /// Whether it may claim some URI with this beginning.
    pub(super) fn may_claim(&self, beginning: &str) -> bool {
        let next = |found: Option<&str>| found.is_some_and(|found| found.starts_with(beginning));
        let resource = self.resources.partition_point(|resource| resource.key.as_str() < beginning);
        let template = self.beginnings.partition_point(|other| other.as_str() < beginning);
        self.covers(beginning)
            || next(self.resources.get(resource).map(|resource| resource.key.as_str()))
            || next(self.beginnings.get(template).map(String::as_str))
    }

    fn covers(&self, text: &str) -> bool {
        // The beginnings are sorted and none begins with another, so only the last one that is not after `text` can match.
        let after = self.beginnings.partition_point(|beginning| beginning.as_str() <= text);
        after.checked_sub(1).and_then(|at| self.beginnings.get(at)).is_some_and(|last| text.starts_with(last.as_str()))
    }
}

/// What all URIs of a template begin with.
pub(super) fn beginning(template: &str) -> &str {
    template.split('{').next().unwrap_or_default()
}

/// Something that a server lists, as clients know it.
pub struct UpstreamItem {
    pub server: Arc<UpstreamServer>,
    pub item: Arc<ListedItem>,
}
