//! Reverse calls over the wire: plugins call tools that live with the client.

mod ask;
pub(super) mod live;

pub use ask::AskTools;
