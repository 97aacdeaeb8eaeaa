//! The import `agent-tools`.

use super::super::guest::Guest;
use super::bindings::portcullis::plugin::{agent_tools as w, types as wt};
use super::store::{Store, charge, charge_with_bytes};
use super::types::{content_to_guest, denial_to_guest, exhaustion_to_guest, tool_result_to_guest, tool_to_guest};
use crate::engine::{Supervised as _, TreeFuel};
use crate::imports as h;
use crate::imports::price;
use std::time::Duration;
use wasmtime::component::Linker;

pub(super) fn add_to_linker(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
    let mut agent_tools = linker.instance("portcullis:plugin/agent-tools@0.1.0")?;
    agent_tools.func_wrap("list-tools", |mut store: Store<'_>, (): ()| {
        let tools = store.data_mut().imports()?.agent_tools.list();
        let size = |tool: &h::Tool| {
            tool.name.len()
                + tool.description.len()
                + tool.input_schema.len()
                + tool.output_schema.as_ref().map_or(0, String::len)
        };
        let bytes = tools.iter().map(|tool| size(tool) as u64).sum();
        charge_with_bytes(&mut store, price::CALL * (1 + tools.len() as u64), bytes)?;
        let tools: Vec<wt::Tool> = tools.into_iter().map(tool_to_guest).collect();
        Ok((tools,))
    })?;
    agent_tools.func_wrap_async(
        "call",
        |store: Store<'_>, (name, arguments, options): (String, String, w::CallOptions)| {
            Box::new(async move {
                let calls = vec![w::AgentCall { name, arguments, options }];
                let mut results = call_all(store, calls).await?;
                Ok((results.pop().unwrap_or(Err(w::AgentError::Cancelled)),))
            })
        },
    )?;
    agent_tools.func_wrap_async("call-many", |store: Store<'_>, (calls,): (Vec<w::AgentCall>,)| {
        Box::new(async move { Ok((call_all(store, calls).await?,)) })
    })
}

/// Makes the calls at once. Fuel and CPU time that are left are split evenly among them, so that together they never
/// use more, and each gets the same whatever the others do.
async fn call_all(
    mut store: Store<'_>,
    calls: Vec<w::AgentCall>,
) -> wasmtime::Result<Vec<Result<w::AgentResult, w::AgentError>>> {
    let size = |call: &w::AgentCall| {
        call.name.len() + call.arguments.len() + call.options.purpose.as_ref().map_or(0, String::len)
    };
    let bytes = calls.iter().map(|call| size(call) as u64).sum();
    charge_with_bytes(&mut store, price::REVERSE_CALL.saturating_mul(calls.len() as u64), bytes)?;
    let fuel = store.get_fuel().ok();
    let guest = store.data_mut();
    let budget = guest.supervision().remaining_budget(fuel).split(calls.len());
    let allowance = guest.supervision().allowance();
    let pausable_clock = allowance.pausable_clock.clone();
    let tree_fuel = allowance.fuel.as_ref().map(TreeFuel::nested);
    guest.count_host_bytes(bytes);
    let imports = guest.imports()?;
    let caller = imports.reverse_caller(budget, calls.len(), pausable_clock, tree_fuel);
    let check = |w::AgentCall { name, arguments, options }| {
        imports.agent_tools.check(name, arguments, &options_from_guest(options), &caller)
    };
    let checked = calls.into_iter().map(check).collect();
    let made = imports.agent_tools.make(checked).await;
    let fuel_owed = imports.scope.lineage.take_owed_fuel();
    let mut results = Vec::with_capacity(made.len());
    let mut external_cpu = Duration::ZERO;
    for h::ReverseOutcome { answer, private, spent, .. } in made {
        // CPU time of a nested call is already part of ours, unless it was spent elsewhere.
        external_cpu = external_cpu.saturating_add(spent.elsewhere);
        results.push(answer.map(|result| result_to_guest(result, private.is_some())).map_err(error_to_guest));
    }
    store.data_mut().supervision().add_external_cpu(external_cpu);
    charge(&mut store, fuel_owed)?;
    Ok(results)
}

fn options_from_guest(options: w::CallOptions) -> h::CallOptions {
    let timeout = options.timeout_ms.map(Duration::from_millis);
    h::CallOptions { timeout, purpose: options.purpose, chunks: options.chunks }
}

fn result_to_guest(result: h::AgentResult, private: bool) -> w::AgentResult {
    let origin = match result.origin {
        h::Origin::Client => w::Origin::Client,
        h::Origin::Component(name) => w::Origin::Component(name),
        h::Origin::Upstream(name) => w::Origin::Upstream(name),
        h::Origin::Model => w::Origin::Model,
        h::Origin::User => w::Origin::User,
    };
    w::AgentResult {
        content: result.content.into_iter().map(content_to_guest).collect(),
        structured: result.structured,
        origin,
        private,
        edited: result.edited,
    }
}

fn error_to_guest(error: h::AgentError) -> w::AgentError {
    match error {
        h::AgentError::UnknownTool(name) => w::AgentError::UnknownTool(name),
        h::AgentError::NotSupported(who) => w::AgentError::NotSupported(who),
        h::AgentError::Declined(reason) => w::AgentError::Declined(reason),
        h::AgentError::Denied(denial) => w::AgentError::Denied(denial_to_guest(denial)),
        h::AgentError::Cycle(path) => w::AgentError::Cycle(path),
        h::AgentError::Timeout(ms) => w::AgentError::Timeout(ms),
        h::AgentError::Exhausted(exhaustion) => w::AgentError::Exhausted(exhaustion_to_guest(exhaustion)),
        h::AgentError::Cancelled => w::AgentError::Cancelled,
        h::AgentError::InvalidArguments(reason) => w::AgentError::InvalidArguments(reason),
        h::AgentError::ToolError(result) => w::AgentError::ToolError(tool_result_to_guest(result)),
        h::AgentError::Failed(reason) => w::AgentError::Failed(reason),
    }
}
