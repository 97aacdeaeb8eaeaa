//! Who sees to it that every call has exactly one verdict, whether it ended, was refused before it began, or was dropped.

use super::answer::Finished;
use crate::audit::{Arguments, Audit, Cost, Scope, Trail};
use crate::engine::CallError;
use crate::imports::CallContext;
use crate::policy::{Digest, PluginId};

/// Watches one call.
pub(super) struct Witness {
    tool: String,
    trail: Trail,
    arguments: Option<Arguments>,
    done: bool,
}

impl Witness {
    /// Of a call that is about to begin. `arguments` is a JSON text.
    pub(super) fn of(audit: &Audit, scope: Scope, tool: &str, arguments: Option<&str>) -> Self {
        let arguments = arguments.and_then(|text| audit.arguments(text));
        let trail = Trail::new(audit.clone(), scope);
        Self { tool: tool.to_owned(), trail, arguments, done: false }
    }

    /// The records of the call.
    pub(super) fn trail(&self) -> &Trail {
        &self.trail
    }

    /// It did not begin.
    pub(super) fn refused<A>(self, error: CallError) -> Finished<A> {
        self.saw(Finished::not_begun(Err(error)), |_| false)
    }

    /// It is over. `failed` says whether an answer tells of a failure.
    pub(super) fn saw<A>(mut self, finished: Finished<A>, failed: impl FnOnce(&A) -> bool) -> Finished<A> {
        let usage = &finished.usage;
        let cost = Cost {
            fuel: usage.spent.fuel,
            cpu: usage.spent.cpu,
            wall: usage.wall,
            memory: usage.peak_memory,
            chunks: usage.chunks,
            output: usage.output_bytes,
        };
        let outcome = match &finished.result {
            Ok(answer) if failed(answer) => "error",
            Ok(_) => "ok",
            Err(error) => error.code(),
        };
        self.conclude(outcome, cost);
        finished
    }

    fn conclude(&mut self, outcome: &'static str, cost: Cost) {
        self.done = true;
        self.trail.verdict(&self.tool, outcome, self.arguments.take(), cost);
    }
}

/// What the records of a call have in common.
pub(super) fn scope(context: &CallContext, plugin: &PluginId, digest: Option<&Digest>) -> Scope {
    Scope {
        principal: context.principal.clone(),
        plugin: plugin.clone(),
        digest: digest.cloned(),
        call: context.id.clone(),
        parent: context.parent.clone(),
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        if !self.done {
            // Whoever waited is gone, and what it cost went with it.
            self.conclude(CallError::Cancelled.code(), Cost::default());
        }
    }
}
