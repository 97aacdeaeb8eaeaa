//! What a guest may ask of the host, one file per interface, in the host's own types.
//!
//! Everything here belongs to one call and is dropped with it. What needs the outside world is behind a trait that lives
//! here with its user: [`CallSink`] takes what a running call has to say, [`ToolCaller`] reaches the agent's tools,
//! [`ClientCalls`] asks the other side, [`ModelProvider`] a model where the other side has none, [`Connections`] uses
//! accounts that users have connected, [`Egress`] sends requests to other servers, [`Publisher`], [`EventSink`] and
//! [`StateStore`] keep what a call leaves behind.

mod agent_tools;
mod client;
mod completion;
mod connections;
mod content;
mod doing;
mod events;
mod http;
mod keepers;
mod log;
mod offer;
mod output;
mod permit;
mod progress;
mod prompt;
mod publish;
mod resource;
mod room;
mod schema;
mod state;
mod steering;
mod tool;
pub mod wasi;

pub use agent_tools::{
    AgentError, AgentResult, AgentTool, AgentTools, CallOptions, Caller, Lane, ReverseCall, ToolCaller,
};
pub use client::{
    Abilities, Ability, Answer, Asked, Client, ClientCalls, ClientError, Decision, FormAnswer, FormSchema, Inquiry,
    ModelError, ModelPreferences, ModelProvider, NoClient, Question, Questions, Reply, Root, SampleAnswer,
    SampleContent, SampleMessage, SampleRequest, SampleTool, Sampled, Tokens, ToolChoice, ToolOutcome, ToolUse,
    UrlTarget,
};
pub use completion::{Completing, Completion, CompletionQuery};
pub use connections::{Accounts, ConnectionError, ConnectionRequest, ConnectionResponse, Connections, NoConnections};
pub use content::{Annotations, Blob, Content, ContentData, EmbeddedResource, ResourceBody, ResourceLink, Role};
pub use doing::{Doing, Outcome};
pub use events::{Event, EventError, EventSink, Events};
pub use http::{
    Egress, Http, HttpBody, HttpError, HttpRequest, NoEgress, Outlet, Patience, Receipt,
    add_to_linker as http_to_linker, is_ours,
};
pub use keepers::{Keepers, Provenance};
pub use log::{GuestLog, Level, Stream};
pub use offer::Offer;
pub use output::{CallSink, Chunk, NoSink, Output, OutputError};
pub use permit::Permit;
pub use policy::Origin;
pub use progress::{Progress, Report};
pub use prompt::{Prompt, PromptArgument, PromptMessage, PromptResult};
pub use publish::{Attributes, Publish, PublishError, PublishedPrompt, Publisher};
pub use resource::{ReadError, ResourceInfo, ResourceTemplate};
pub use room::{ENTRY, Room, Share};
pub use schema::{Schema, SchemaError};
pub use state::{Expectation, State, StateEntry, StateError, StateOwner, StateStore};
pub use steering::{MAX_MESSAGE as MAX_STEERING_MESSAGE, Steering, SteeringError};
pub use tool::{
    Budgeted, CallContext, Execution, Exhaustion, GuestDenial, Icon, Tool, ToolAnnotations, ToolError, ToolResult,
};

use platform::audit::Trail;
use std::sync::Arc;

/// Prices of host work in fuel, so that a guest cannot have the host work for nothing. One unit is about a nanosecond.
pub mod price {
    /// Any import of this package.
    pub const CALL: u64 = 500;
    /// Each byte that is sent or logged.
    pub const BYTE: u64 = 2;
    /// Setting up a nested call, besides what the call itself uses.
    pub const REVERSE_CALL: u64 = 20_000;
    /// A request to another server: connecting, encrypting, searching the answer.
    pub const OUTBOUND: u64 = 50_000;
    /// Keeping or removing a value: a commit, and the wear of a disk.
    pub const KEEP: u64 = 20_000;
    /// Putting a question: schemas are compiled, a call may be parked and found again.
    pub const QUESTION: u64 = 50_000;
}

/// The imports' state of one call.
pub struct CallCtx {
    /// What the guest is told about its call.
    pub context: CallContext,
    /// `output`.
    pub output: Output,
    /// `progress`.
    pub progress: Progress,
    /// `agent-tools`.
    pub agent_tools: AgentTools,
    /// `steering`.
    pub steering: Steering,
    /// `publish`.
    pub publish: Publish,
    /// `events`.
    pub events: Events,
    /// `state`.
    pub state: State,
    /// `client`.
    pub client: Client,
    /// `connections`.
    pub accounts: Accounts,
    /// `wasi:http`.
    pub http: Http,
    /// Its files, and how much they may grow.
    pub files: wasi::Files,
    /// What the call may do, and the records of what is decided on its behalf.
    pub permit: Permit,
    /// The last path that the sandbox refused, for the error the user sees.
    pub refused_path: Option<wasi::RefusedPath>,
}

impl CallCtx {
    /// Puts the parts together; output and progress go to the same place.
    pub fn new(
        context: CallContext,
        limits: &policy::Limits,
        sink: Arc<dyn CallSink>,
        agent_tools: AgentTools,
        client: Client,
        accounts: Accounts,
    ) -> Self {
        let (permit, nobody) = (agent_tools.permit().clone(), Keepers::none());
        let client = client.of_call(&context.id);
        let lineage = agent_tools.lineage().clone();
        let http = Http::new(permit.clone(), lineage, Arc::new(NoEgress));
        let state = State::new(permit.clone(), agent_tools.lineage().clone(), &context, nobody.state);
        Self {
            context,
            output: Output::new(limits, sink.clone()),
            progress: Progress::new(sink),
            agent_tools,
            steering: Steering::default(),
            publish: Publish::new(permit.clone(), nobody.publisher),
            events: Events::new(permit.clone(), nobody.events),
            state,
            client,
            accounts,
            http,
            files: wasi::Files::new(limits.growth.as_u64(), &permit),
            permit,
            refused_path: None,
        }
    }

    /// Where what is decided on the call's behalf is recorded.
    pub fn trail(&self) -> &Trail {
        self.permit.trail()
    }

    /// Begins something that the guest asked for, by interface and function; `bytes` is what it gave.
    pub fn doing(&self, name: &'static str, bytes: usize) -> Doing {
        Doing::begin(self.trail(), name).taking(bytes as u64)
    }

    /// With a way to other servers; without, whatever is granted is not sent.
    pub fn sending_by(mut self, egress: Arc<dyn Egress>) -> Self {
        self.http = Http::new(self.permit.clone(), self.agent_tools.lineage().clone(), egress);
        self
    }

    /// With a directory of the plugin's own, which all its calls share.
    pub fn at_home_in(mut self, room: Option<&Arc<Room>>) -> Self {
        self.files.share(room, &self.permit);
        self
    }

    /// To which somebody may say something.
    pub fn steered_by(mut self, steering: Steering) -> Self {
        self.steering = steering;
        self
    }

    /// With somebody who keeps what the call leaves behind; without, there is no room for anything.
    pub fn keep_with(mut self, keepers: &Keepers) -> Self {
        let permit = &self.permit;
        let lineage = self.agent_tools.lineage().clone();
        self.publish = Publish::new(permit.clone(), keepers.publisher.clone());
        self.events = Events::new(permit.clone(), keepers.events.clone());
        self.state = State::new(permit.clone(), lineage, &self.context, keepers.state.clone());
        self
    }
}
