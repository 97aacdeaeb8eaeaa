//! The agent's side of reverse calls: agent-side tools loaded as components in this host, servers behind it, and whoever
//! decides about them and answers what servers ask.

mod address;
mod circle;
mod desk;
mod face;
pub mod gateway;
mod local;
mod memory;
mod nobody;
mod reactions;
mod rules;
mod together;
pub mod upstream;
mod view;

pub use address::{Address, AddressError};
pub use circle::Circle;
pub use desk::{Desk, DeskParts, Matter, Notice, Outcome, Ruling, RulingError};
pub use face::{Asker, Face, Heard, ToolRequest, Verdict};
pub use local::LocalAgent;
pub use memory::{Approved, Memory, MemoryError, MemoryFile, OpenCall};
pub use nobody::Nobody;
pub use reactions::{Action, Happened, INBOX, InboxEvent, Reaction, ReactionError, Reactions, Reading};
pub use rules::{Approval, FormRule, Glob, GlobError, PageRule, Review, Ruled, Rules, RulesError};
pub use together::Together;
pub use upstream::{Call, Called, Era, Offer, Upstream, UpstreamError, UpstreamSettings, UpstreamTools};
pub use view::{Act, ChunkPolicy, Item, Model, ScriptError, ScriptedModel, Transcript, words};
