//! The export `reconcile`.

use super::super::guest::Guest;
use super::bindings::exports::portcullis::plugin::reconcile as w;
use super::bindings::portcullis::plugin::types::CallContext;
use super::types::tool_result_from_guest;
use crate::imports as h;
use wasmtime::Store;
use wasmtime::component::Instance;

/// `of` is the tool that was called, with its arguments.
pub(super) async fn reconcile(
    export: &w::GuestIndices,
    store: &mut Store<Guest>,
    instance: &Instance,
    context: &CallContext,
    of: (&str, &str),
    effect: h::EffectInDoubt,
) -> wasmtime::Result<h::Verdict> {
    let reconcile = export.load(&mut *store, instance)?;
    let effect = effect_to_guest(effect);
    Ok(verdict_from_guest(reconcile.call_reconcile(store, context, of.0, of.1, &effect).await?))
}

fn effect_to_guest(h::EffectInDoubt { step, import, effect }: h::EffectInDoubt) -> w::EffectInDoubt {
    let effect = match effect {
        h::Effect::Http { method, url, headers } => w::Effect::Http(w::HttpRequest { method, url, headers }),
        h::Effect::AgentTool { name, arguments } => w::Effect::AgentTool(w::AgentCall { name, arguments }),
        h::Effect::Other => w::Effect::Other,
    };
    w::EffectInDoubt { step, name: import.to_owned(), effect }
}

fn verdict_from_guest(verdict: w::Verdict) -> h::Verdict {
    match verdict {
        w::Verdict::NotDone => h::Verdict::NotDone,
        w::Verdict::Done(answer) => h::Verdict::Done(answer_from_guest(answer)),
        w::Verdict::Unknown => h::Verdict::Unknown,
    }
}

fn answer_from_guest(answer: w::Answer) -> h::EffectAnswer {
    match answer {
        w::Answer::Http(w::HttpResponse { status, headers, body }) => h::EffectAnswer::Http { status, headers, body },
        w::Answer::AgentTool(result) => h::EffectAnswer::AgentTool(tool_result_from_guest(result)),
    }
}
