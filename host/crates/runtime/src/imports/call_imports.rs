//! The host side of all imports for one call. What an import needs is made when the guest first uses it.

use super::agent_tools::{AgentTools, ReverseCaller};
use super::call_scope::CallScope;
use super::call_sink::{EarlierChunks, OutputError};
use super::checkpoint::{CallUsed, CheckpointError, LastCheckpoint, MAX_CHECKPOINT, Restored};
use super::client::{Abilities, Client, ClientUsage};
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
use super::reconcile::OtherEffects;
use super::sessions::Session;
use super::state::PluginState;
use super::steering::{Received, Steering, SteeringMessage};
use super::types::Content;
use super::wasi::{DiskQuota, Files, RefusedPath};
use crate::engine::{PausableClock, TreeFuel};
use crate::journal::{CallJournal, Checkpoint, is_long};
use policy::{Budget, BudgetUsage, Denial, TreeBudget};
use std::sync::Arc;
use std::time::Duration;

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
    pub(super) checkpoint: LastCheckpoint,
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
        if let Some(reconciler) = &scope.reconciler {
            journal.set_inquiry(Arc::new(OtherEffects(reconciler.clone())));
        }
        Self {
            agent_tools: AgentTools::new(scope.clone(), link.agent.clone(), journal.clone()),
            progress: Progress::new(link.sink.clone()),
            files: Files::new(scope.clone(), disk_quota, services.open_files.clone(), journal.clone()),
            output: None,
            accounts: None,
            client: None,
            checkpoint: LastCheckpoint::default(),
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

    pub fn session(&self) -> Session<'_> {
        Session::new(self.state())
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

    /// Sends a chunk. A replayed chunk is only counted, because its reader has it already.
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
        let steering = self.link.steering.as_ref();
        let step = self.journal.begin("steering.next", &()).or_nothing(&None::<SteeringMessage>);
        let is_replayed = step.is_recorded();
        if let Some(steering) = steering.filter(|_| !is_replayed) {
            steering.catches_up();
        }
        let next = step.see(|| steering.and_then(Steering::next))?;
        if let Some(steering) = steering.filter(|_| is_replayed) {
            steering.replayed(&Received::Message(next.clone()));
        }
        Some(next.text)
    }

    /// Waits for the next message to the call. Returns [`Received::Ended`] at once if nobody can send messages to the call.
    pub async fn receive_steering(&self, timeout: Option<Duration>) -> Received {
        let Some(steering) = &self.link.steering else { return Received::Ended };
        let millis = timeout.map(|timeout| u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX));
        let timeout = match timeout.filter(|timeout| is_long(*timeout)) {
            Some(long) => Some(self.journal.begin("steering.wait", &millis).left_of(long)),
            None => timeout,
        };
        let step = self.journal.begin("steering.receive", &millis).or_nothing(&Received::TimedOut);
        let is_replayed = step.is_recorded();
        if !is_replayed {
            steering.catches_up();
        }
        let received = step.ask(steering.receive(timeout)).await;
        if is_replayed {
            steering.replayed(&received);
        }
        received
    }

    /// What `concurrent` reverse calls take over from this call. Each of them gets `budget`, a share of this call's budget.
    pub fn reverse_caller(
        &mut self,
        budget: Budget,
        concurrent: usize,
        pausable_clock: PausableClock,
        tree_fuel: Option<TreeFuel>,
    ) -> ReverseCaller {
        let output = self.output().clone();
        let (client, cancel, held) = (self.link.client.clone(), self.link.cancel.clone(), self.link.held.clone());
        ReverseCaller { client, cancel, output, budget, concurrent, pausable_clock, tree_fuel, held }
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

    pub(super) fn client_usage(&self) -> ClientUsage {
        self.client.as_ref().map(Client::usage).unwrap_or_default()
    }

    /// Size in bytes of the guest's last checkpoint, which the host keeps in memory.
    pub fn checkpoint_bytes(&self) -> u64 {
        self.checkpoint.size()
    }

    /// Tokens of the host's model that the call has used.
    pub fn model_tokens(&self) -> u64 {
        self.client.as_ref().map_or(0, Client::model_tokens)
    }

    /// Abilities that the call needed and the client lacks.
    pub fn missing_abilities(&self) -> Abilities {
        self.client.as_ref().map(Client::lacked).unwrap_or_default()
    }
}

impl CallImports {
    /// The state that was saved last, by this run of the call or by an earlier one.
    pub async fn restored(&mut self) -> Restored {
        if !self.checkpoint.is_opened {
            self.checkpoint.is_opened = true;
            if let Some(Checkpoint { state, used }) = self.journal.restored().await {
                self.checkpoint.state = Some(state.clone());
                let metered = Some(self.catch_up(used));
                return Restored { state: Some(state), metered };
            }
        }
        Restored { state: self.checkpoint.state.clone(), metered: None }
    }

    /// Saves a checkpoint. `metered` is what the engine has counted up to now.
    pub async fn save(&mut self, state: Vec<u8>, metered: BudgetUsage) -> Result<(), CheckpointError> {
        if !self.checkpoint.is_opened {
            return Err(CheckpointError::NotOpened);
        }
        if state.len() as u64 > MAX_CHECKPOINT {
            return Err(CheckpointError::TooLarge(MAX_CHECKPOINT));
        }
        // Waits for the sink: this checkpoint replaces the steps that sent its chunks, so a chunk that it has not taken yet
        // would be lost.
        let counted = match &self.output {
            Some(output) => output.counted().await,
            None => None,
        };
        let used = self.used(metered, counted);
        self.journal.save(Checkpoint { state: state.clone(), used }).await;
        self.checkpoint.state = Some(state);
        self.checkpoint.chunks = self.chunks();
        Ok(())
    }

    /// Bytes of output that are kept with the next checkpoint.
    pub fn unsaved_output(&self) -> u64 {
        match &self.output {
            Some(output) if output.chunks() > self.checkpoint.chunks => output.kept_bytes(),
            _ => 0,
        }
    }

    fn used(&self, metered: BudgetUsage, counted: Option<Vec<u8>>) -> CallUsed {
        CallUsed {
            metered,
            tree: self.scope.lineage.usage(),
            chunks: self.chunks(),
            output: self.bytes_with_result(0).unwrap_or_else(|(used, _)| used),
            progress: self.progress.last(),
            denials: self.scope.audit().denials(),
            client: self.client_usage(),
            tools: self.agent_tools.called(),
            lacked_tools: self.agent_tools.lacked(),
            messages: self.link.steering.as_ref().map(Steering::read_so_far).unwrap_or_default(),
            counted,
        }
    }

    /// Adds what an earlier run had used to the counters of this run. Returns the part that the engine has to count.
    fn catch_up(&mut self, used: CallUsed) -> BudgetUsage {
        let CallUsed { metered, tree, chunks, output, progress, denials, client, tools, lacked_tools, .. } = used;
        if let Some(steering) = &self.link.steering {
            steering.restored(used.messages);
        }
        self.scope.lineage.catch_up(&tree);
        self.checkpoint.chunks = chunks;
        if chunks > 0 {
            self.output().catch_up(EarlierChunks { chunks, bytes: output, counted: used.counted });
        }
        self.progress.catch_up(progress);
        self.scope.audit().catch_up(denials);
        self.client().catch_up(client);
        self.agent_tools.catch_up(tools, lacked_tools);
        metered
    }
}
