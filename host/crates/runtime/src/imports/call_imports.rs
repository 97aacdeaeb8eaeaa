//! The host side of all imports for one call. What an import needs is made when the guest first uses it.

use super::agent_tools::{AgentTools, ReverseCaller};
use super::call_scope::CallScope;
use super::call_sink::OutputError;
use super::client::{Abilities, Client};
use super::client_journal::JournaledClient;
use super::client_link::ClientLink;
use super::connections::Accounts;
use super::events::Events;
use super::host_services::HostServices;
use super::http::Egress;
use super::import_span::ImportSpan;
use super::output::Output;
use super::progress::Progress;
use super::publish::Publish;
use super::state::PluginState;
use super::steering::Steering;
use super::types::Content;
use super::wasi::{DiskQuota, Files, RefusedPath};
use crate::engine::{PausableDeadline, TreeFuel};
use crate::journal::CallJournal;
use policy::{Budget, Denial, TreeBudget};
use std::sync::Arc;
use std::time::Instant;

pub struct CallImports {
    pub scope: Arc<CallScope>,
    pub link: ClientLink,
    services: Arc<HostServices>,
    pub journal: CallJournal,
    pub agent_tools: AgentTools,
    pub progress: Progress,
    pub files: Files,
    output: Option<Output>,
    accounts: Option<Accounts>,
    client: Option<Client>,
    /// The last path that the sandbox refused, for the error message.
    pub refused_path: Option<RefusedPath>,
    /// The last denied HTTP request, for the error message. Set when the call has ended.
    pub refused_request: Option<Denial>,
}

impl CallImports {
    /// `disk_quota` is that of the plugin's scratch directory, which all its calls share.
    pub fn new(
        scope: Arc<CallScope>,
        link: ClientLink,
        services: Arc<HostServices>,
        disk_quota: Option<Arc<DiskQuota>>,
        journal: CallJournal,
    ) -> Self {
        journal.end_with(&link.cancel);
        scope.audit().be_silent_while(journal.silence());
        Self {
            agent_tools: AgentTools::new(scope.clone(), link.agent.clone(), journal.clone()),
            progress: Progress::new(link.sink.clone()),
            files: Files::new(scope.clone(), disk_quota, services.open_files.clone(), journal.clone()),
            output: None,
            accounts: None,
            client: None,
            refused_path: None,
            refused_request: None,
            scope,
            link,
            services,
            journal,
        }
    }

    /// Starts the span of an import call; `bytes` is what the guest passed in.
    pub fn start_span(&self, name: &'static str, bytes: usize) -> ImportSpan {
        ImportSpan::start(self.scope.audit(), name).with_request_size(bytes as u64)
    }

    pub fn egress(&self) -> Arc<dyn Egress> {
        self.services.egress.clone()
    }

    pub fn publish(&self) -> Publish<'_> {
        Publish::new(&self.scope, &*self.services.publisher, &self.journal)
    }

    pub fn events(&self) -> Events<'_> {
        Events::new(&self.scope, &*self.services.events, &self.journal)
    }

    pub fn state(&self) -> PluginState<'_> {
        PluginState::new(&self.scope, &*self.services.state, &self.journal)
    }

    pub fn output(&mut self) -> &Output {
        self.output.get_or_insert_with(|| Output::new(&self.scope.limits, self.link.sink.clone()))
    }

    pub fn accounts(&mut self) -> &Accounts {
        let Self { scope, services, journal, accounts, .. } = self;
        let new = || Accounts::new(scope.clone(), services.connections.clone(), journal.clone());
        accounts.get_or_insert_with(new)
    }

    pub fn client(&mut self) -> &mut Client {
        let Self { scope, link, services, journal, accounts, client, .. } = self;
        client.get_or_insert_with(|| {
            let new = || Accounts::new(scope.clone(), services.connections.clone(), journal.clone());
            let calls = JournaledClient::wrap(link.client.clone(), journal);
            Client::new(scope.clone(), calls, accounts.get_or_insert_with(new).clone(), journal.clone())
        })
    }

    /// Sends a chunk. A replayed one is only counted: whoever reads them has it already.
    pub async fn emit(&mut self, content: Vec<Content>) -> Result<u64, OutputError> {
        let mut step = self.journal.begin("output.emit", &content);
        if let Some(number) = step.recorded().await {
            self.output().replayed(&number, content);
            return number;
        }
        let number = self.output().emit(content).await;
        step.ended(&number).await;
        number
    }

    /// The next message to the call.
    pub fn next_steering(&self) -> Option<String> {
        let next = || self.link.steering.as_ref().and_then(Steering::next);
        self.journal.begin("steering.next", &()).or_nothing(&None::<String>).see(next)
    }

    /// What `concurrent` reverse calls take from this call, each with this share of its budget.
    pub fn reverse_caller(
        &mut self,
        budget: Budget,
        concurrent: usize,
        now: Instant,
        pausable_deadline: PausableDeadline,
        tree_fuel: Option<TreeFuel>,
    ) -> ReverseCaller {
        let output = self.output().clone();
        let (client, cancel, held) = (self.link.client.clone(), self.link.cancel.clone(), self.link.held.clone());
        ReverseCaller { client, cancel, output, budget, concurrent, now, pausable_deadline, tree_fuel, held }
    }

    /// Chunks sent.
    pub fn chunks(&self) -> u64 {
        self.output.as_ref().map_or(0, Output::chunks)
    }

    /// Bytes sent so far plus `result` bytes; the error is `(used, limit)`.
    pub fn bytes_with_result(&self, result: u64) -> Result<u64, (u64, u64)> {
        let limit = self.scope.limits.output.as_u64();
        let used = self.output.as_ref().map_or(0, Output::bytes) + result;
        if used > limit { Err((used, limit)) } else { Ok(used) }
    }

    /// Questions asked by this call and those below it, repetitions included.
    pub fn questions_asked(&self) -> u32 {
        u32::try_from(self.scope.lineage.used(TreeBudget::Questions)).unwrap_or(u32::MAX)
    }

    /// Tokens used of the host's model.
    pub fn model_tokens(&self) -> u64 {
        self.client.as_ref().map_or(0, Client::model_tokens)
    }

    /// Abilities that the call needed and the client lacks.
    pub fn missing_abilities(&self) -> Abilities {
        self.client.as_ref().map(Client::lacked).unwrap_or_default()
    }
}
