//! Asks a plugin what became of an effect that an earlier run has begun and whose outcome is not recorded. The plugin may know
//! how to find out. It is asked once, and its answer becomes the outcome.

use super::types::ToolResult;
use crate::journal::OutcomeInquiry;
use async_trait::async_trait;
use futures::future::BoxFuture;
use std::sync::Arc;

/// What is known of the effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// The headers are as the guest set them, so they hold the names of secrets and not the secrets.
    Http { method: String, url: String, headers: Vec<(String, Vec<u8>)> },
    /// Arguments are JSON text.
    AgentTool { name: String, arguments: String },
    /// Any other effect. The plugin cannot return its outcome, only whether it has happened.
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

/// The plugin's answer about an effect in doubt.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    NotDone,
    Done(EffectAnswer),
    Unknown,
}

/// The outcome of an effect that has happened.
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
    /// Returns [`Verdict::Unknown`] if asking fails.
    async fn reconcile(&self, effect: EffectInDoubt) -> Verdict;
}

/// Asks about effects whose outcome the plugin cannot return: only whether they have happened.
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
