//! How much a plugin may ask of a model.

use crate::capabilities::common::extent::GrantEntry;
use serde::{Deserialize, Serialize};

/// How much a plugin may ask of a model in one call and all calls of its tree together. Each request costs somebody money.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct SampleGrant {
    /// Requests of the tree. Bounds a guest that asks in a loop a model that somebody else pays for.
    pub calls: u32,
    /// Sum of the `max-tokens` of these requests. Bounds the bill.
    pub tokens: u32,
    /// Whether the host's own model answers when the client has none.
    pub fallback: bool,
}

impl Default for SampleGrant {
    fn default() -> Self {
        Self { calls: 4, tokens: 2_000, fallback: false }
    }
}

/// What a tree of calls has asked of models.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampleUsage {
    calls: u32,
    tokens: u32,
}

/// The limit of a grant that was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SampleLimit {
    Calls(u32),
    Tokens(u32),
}

impl SampleUsage {
    pub(crate) fn add(&mut self, more: Self) {
        self.calls = self.calls.saturating_add(more.calls);
        self.tokens = self.tokens.saturating_add(more.tokens);
    }

    /// The usage beyond that in `earlier`.
    pub(crate) fn since(self, earlier: Self) -> Self {
        let calls = self.calls.saturating_sub(earlier.calls);
        Self { calls, tokens: self.tokens.saturating_sub(earlier.tokens) }
    }

    pub(crate) fn one(tokens: u32) -> Self {
        Self { calls: 1, tokens }
    }
}

impl SampleGrant {
    /// Counts one more request if the grant allows it.
    pub fn count(&self, used: &mut SampleUsage, tokens: u32) -> Result<(), SampleLimit> {
        if used.calls >= self.calls {
            return Err(SampleLimit::Calls(self.calls));
        }
        let tokens = used.tokens.saturating_add(tokens);
        if tokens > self.tokens {
            return Err(SampleLimit::Tokens(self.tokens));
        }
        *used = SampleUsage { calls: used.calls + 1, tokens };
        Ok(())
    }
}

impl GrantEntry for SampleGrant {
    fn is_within(&self, other: &Self) -> bool {
        let Self { calls, tokens, fallback } = self;
        *calls <= other.calls && *tokens <= other.tokens && (!fallback || other.fallback)
    }
}
