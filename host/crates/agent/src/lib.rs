//! The agent's side of reverse calls: agent-side tools loaded as components in this host, servers behind it, and whoever
//! decides about them and answers what servers ask.

mod address;
mod circle;
mod desk;
mod memory;
mod reactions;
mod rules;
mod view;

pub use address::{Address, AddressError};
pub use circle::Circle;
pub use desk::{Desk, DeskParts, Matter, Notice, Outcome, Ruling, RulingError};
pub use memory::{Approved, Memory, MemoryError, MemoryFile, OpenCall};
pub use reactions::{Action, Happened, INBOX, InboxEvent, Reaction, ReactionError, Reactions, Reading};
pub use rules::{Approval, FormRule, Glob, GlobError, PageRule, Review, Ruled, Rules, RulesError};
pub use view::{Act, ChunkPolicy, Item, Model, ScriptError, ScriptedModel, Transcript, words};
