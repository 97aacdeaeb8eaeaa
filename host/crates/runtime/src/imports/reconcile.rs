//! What has become of an effect that an earlier run has begun, and of which no outcome is recorded: the plugin may know how
//! to find out. It is asked once: what it says becomes the outcome.

use super::types::ToolResult;
use crate::journal::OutcomeInquiry;
use async_trait::async_trait;
use futures::future::BoxFuture;
use std::sync::Arc;

/// What is known of the effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Headers are as the guest set them, so secrets are names in them.
    Http { method: String, url: String, headers: Vec<(String, Vec<u8>)> },
    /// Arguments are JSON text.
    AgentTool { name: String, arguments: String },
    /// There is no form for its outcome.
    Other,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EffectInDoubt {
    /// The number of its step.
    pub step: String,
    /// Such as `http.handle`.
    pub import: &'static str,
    pub effect: Effect,
}

/// What the plugin says of it.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    NotDone,
    Done(EffectAnswer),
    Unknown,
}

/// What came of an effect.
#[derive(Debug, Clone, PartialEq)]
pub enum EffectAnswer {
    Http { status: u16, headers: Vec<(String, Vec<u8>)>, body: Vec<u8> },
    AgentTool(ToolResult),
}

impl Verdict {
    /// For records.
    pub fn name(&self) -> &'static str {
        match self {
            Self::NotDone => "not-done",
            Self::Done(_) => "done",
            Self::Unknown => "unknown",
        }
    }
}

/// Asks the plugin of a call.
#[async_trait]
pub trait Reconciler: Send + Sync {
    /// Whatever fails is unknown.
    async fn reconcile(&self, effect: EffectInDoubt) -> Verdict;
}

/// The same for effects whose outcome it cannot say.
pub(super) struct OtherEffects(pub(super) Arc<dyn Reconciler>);

impl OutcomeInquiry for OtherEffects {
    fn has_not_happened(&self, step: String, import: &'static str) -> BoxFuture<'static, bool> {
        let reconciler = self.0.clone();
        Box::pin(async move {
            let effect = EffectInDoubt { step, import, effect: Effect::Other };
            reconciler.reconcile(effect).await == Verdict::NotDone
        })
    }
}
