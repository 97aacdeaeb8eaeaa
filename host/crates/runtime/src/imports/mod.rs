//! What a guest may ask of the host: one file or folder per interface of `wit/v0.1`, in the host's own types.
//!
//! Everything here belongs to one call and is dropped with it. What needs the outside world is behind a trait beside its
//! user: [`CallSink`] takes the output of a running call, [`ToolCaller`] reaches the agent's tools, [`ClientCalls`] the
//! client, [`ModelProvider`] a model for clients without one, [`Connections`] the accounts that users have connected,
//! [`Egress`] other servers; [`Publisher`], [`EventSink`] and [`StateStore`] keep what outlives a call.

mod agent_tools;
mod arguments;
mod call_authority;
mod call_imports;
mod call_scope;
mod call_sink;
mod checkpoint;
mod client;
mod client_journal;
mod client_link;
mod completions;
mod connections;
mod events;
mod host_services;
mod http;
mod import_span;
mod log;
mod offer;
mod output;
pub mod price;
mod progress;
mod prompts;
mod provenance;
mod publish;
mod reconcile;
#[cfg(test)]
mod replay_fixture;
mod resources;
mod schema;
mod sessions;
mod state;
mod steering;
mod streams;
mod types;
mod unusable_state;
pub mod wasi;

pub use agent_tools::{
    AgentError, AgentResult, AgentTool, AgentTools, CallOptions, LaneCell, ReverseCall, ReverseCallStep, ReverseCaller,
    ReverseOutcome, ToolCaller,
};
pub use arguments::Arguments;
pub use call_authority::CallAuthority;
pub use call_imports::CallImports;
pub use call_scope::CallScope;
pub use call_sink::{CallSink, Chunk, EarlierChunks, NoSink, OutputError, ProgressReport};
pub use checkpoint::{CheckpointError, MAX_CHECKPOINT, Restored};
pub use client::{
    Abilities, Ability, Author, CheckedQuestion, Client, ClientAnswer, ClientCalls, ClientError, ClientReply, Consent,
    FormAnswer, FormSchema, ModelAnswer, ModelError, ModelPreferences, ModelProvider, NoClient, Question,
    QuestionBatch, Root, SampleAnswer, SampleContent, SampleMessage, SampleRequest, SampleTool, TokenUsage, ToolChoice,
    ToolOutcome, ToolUse, UrlTarget, count_questions,
};
pub use client_link::ClientLink;
pub use completions::{Completion, CompletionQuery, CompletionTarget};
pub use connections::{Accounts, ConnectionError, ConnectionRequest, ConnectionResponse, Connections, NoConnections};
pub use events::{EventError, EventSink, Events, PluginEvent};
pub use host_services::HostServices;
pub use http::{
    Egress, Http, HttpBody, HttpError, HttpExchange, HttpHooks, HttpHost, HttpRequest, HttpTimeouts, NoEgress,
    add_to_linker as http_to_linker, is_forbidden_header,
};
pub use import_span::{ErrorName, ImportSpan};
pub use log::{GuestLog, LogLevel, StdioLog};
pub use offer::Offer;
pub use output::{MAX_KEPT_OUTPUT, Output};
pub use policy::Origin;
pub use progress::Progress;
pub use prompts::{Prompt, PromptArgument, PromptMessage, PromptResult};
pub use provenance::Provenance;
pub use publish::{Publish, PublishError, PublishedPrompt, Publisher, ResourceAttributes};
pub use reconcile::{Effect, EffectAnswer, EffectInDoubt, Reconciler, Verdict};
pub use resources::{ReadError, ResourceInfo, ResourceTemplate};
pub use schema::{
    LazySchema, Schema, SchemaError, check_schema_extent, to_current_draft, to_portable, unportable_parts,
};
pub use sessions::{Session, SessionError};
pub use state::{ExpectedVersion, PluginState, STATE_FAILED, StateEntry, StateError, StateOwner, StateStore};
pub use steering::{
    MAX_MESSAGE as MAX_STEERING_MESSAGE, MAX_UNREAD as MAX_UNREAD_MESSAGES, Received, Steering, SteeringChanges,
    SteeringError, SteeringMessage,
};
pub use types::{
    Annotations, Blob, BudgetKind, CallContext, Content, ContentData, EmbeddedResource, Execution, Exhaustion,
    GuestDenial, Icon, ResourceBody, ResourceLink, Role, Tool, ToolAnnotations, ToolError, ToolResult, check_link,
};
pub use unusable_state::UnusableState;
pub use wasi::{DiskQuota, ENTRY_SIZE, OpenFiles, QuotaUse, SandboxUses};
