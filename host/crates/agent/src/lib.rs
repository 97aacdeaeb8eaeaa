//! The terminal agent: the servers that it uses, and how it approves reverse calls and answers questions.

mod address;
mod approvals;
mod memory;
mod reactions;
mod rules;
mod server_set;
mod transcript;

pub use address::{PageAddress, PageAddressError};
pub use approvals::{
    AgentEvent, ApprovalDecision, ApprovalRequest, Approvals, ApprovalsOptions, CallOutcome, DecisionError, KeptCall,
};
pub use memory::{Memory, MemoryError, MemoryFile, ToolApproval, UnfinishedCall};
pub use reactions::{
    INBOX_URI, InboxEvent, InboxReading, Reaction, ReactionAction, ReactionError, Reactions, TriggeredReaction,
};
pub use rules::{AgentRule, FormRule, PageRule, RuleMatch, Rules, RulesError, SamplingReview};
pub use server_set::ServerSet;
pub use transcript::{
    AgentModel, ChunkPolicy, ModelAction, ScriptError, ScriptedModel, Transcript, TranscriptItem, content_text,
};
