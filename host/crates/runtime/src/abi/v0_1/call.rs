//! Calls one function of the exported interfaces.

use super::super::guest::Guest;
use super::super::guest_call::{GuestAnswer, GuestCall};
use super::bindings::portcullis::plugin::types::CallContext;
use super::exports::{V01Exports, exported};
use super::{completions, prompts, reconcile, resources, tools};
use wasmtime::Store;
use wasmtime::component::Instance;

pub(in super::super) async fn call(
    exports: &V01Exports,
    call: GuestCall,
    store: &mut Store<Guest>,
    instance: &Instance,
    context: &CallContext,
) -> wasmtime::Result<GuestAnswer> {
    Ok(match call {
        GuestCall::Tool { name, arguments } => {
            let export = exported(&exports.tools)?;
            GuestAnswer::Tool(tools::call_tool(export, store, instance, context, &name, &arguments).await?)
        }
        GuestCall::Resource { uri } => {
            let export = exported(&exports.resources)?;
            GuestAnswer::Resource(resources::read_resource(export, store, instance, context, &uri).await?)
        }
        GuestCall::Prompt { name, arguments } => {
            let export = exported(&exports.prompts)?;
            let answer = prompts::get_prompt(export, store, instance, context, &name, &arguments).await?;
            GuestAnswer::Prompt(answer)
        }
        GuestCall::Completion(query) => {
            let export = exported(&exports.completions)?;
            GuestAnswer::Completion(completions::complete(export, store, instance, context, query).await?)
        }
        GuestCall::Reconcile { name, arguments, effect } => {
            let export = exported(&exports.reconcile)?;
            let of = (&*name, &*arguments);
            GuestAnswer::Reconcile(reconcile::reconcile(export, store, instance, context, of, effect).await?)
        }
    })
}
