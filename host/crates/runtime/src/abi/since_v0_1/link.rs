//! The imports of `portcullis:plugin@0.1.x`, each charged for the work it makes the host do.

use super::super::guest::Guest;
use super::bindings::portcullis::plugin::agent_tools::{AgentCall, AgentError, AgentResult, CallOptions};
use super::bindings::portcullis::plugin::log::Level;
use super::bindings::portcullis::plugin::output::OutputError;
use super::bindings::portcullis::plugin::types::{Content, Tool};
use super::{convert, link_client, link_connections, link_events, link_publish, link_state};
use crate::engine::Supervised;
use crate::imports::{Caller, Report, price};
use std::time::Duration;
use wasmtime::component::Linker;
use wasmtime::{StoreContextMut, Trap};

pub(super) type Store<'a> = StoreContextMut<'a, Guest>;

pub(super) fn add_to_linker(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
    let mut output = linker.instance("portcullis:plugin/output@0.1.0")?;
    output.func_wrap_async("emit", |mut store: Store<'_>, (content,): (Vec<Content>,)| {
        Box::new(async move {
            let content: Vec<_> = content.into_iter().map(convert::content_from_guest).collect();
            let bytes: u64 = content.iter().map(crate::imports::Content::size).sum();
            charge(&mut store, price::CALL + bytes.saturating_mul(price::BYTE))?;
            let sent: Result<u64, OutputError> =
                store.data_mut().call()?.output.emit(content).await.map_err(convert::output_error_to_guest);
            Ok((sent,))
        })
    })?;

    let mut progress = linker.instance("portcullis:plugin/progress@0.1.0")?;
    progress.func_wrap(
        "report",
        |mut store: Store<'_>, (done, total, message): (f64, Option<f64>, Option<String>)| {
            charge(&mut store, price::CALL)?;
            store.data_mut().call()?.progress.report(Report { done, total, message });
            Ok(())
        },
    )?;

    let mut log = linker.instance("portcullis:plugin/log@0.1.0")?;
    log.func_wrap("write", |mut store: Store<'_>, (level, message): (Level, String)| {
        charge(&mut store, price::CALL + (message.len() as u64).saturating_mul(price::BYTE))?;
        let (guest, level) = (store.data_mut(), convert::level_from_guest(level));
        if guest.log.write(level, &message) {
            // A component may log before its call has begun; then there is only the host's log.
            let _ = guest.call().map(|call| call.output.log(level, &message));
        }
        Ok(())
    })?;

    let mut meter = linker.instance("portcullis:plugin/meter@0.1.0")?;
    meter.func_wrap("fuel-left", |store: Store<'_>, (): ()| Ok((store.get_fuel().ok(),)))?;
    meter.func_wrap("deadline-left", |mut store: Store<'_>, (): ()| {
        let guest = store.data_mut();
        let now = guest.clock.now();
        let left = guest.supervision().deadline().saturating_duration_since(now);
        Ok((u64::try_from(left.as_millis()).unwrap_or(u64::MAX),))
    })?;

    link_publish::add_to_linker(linker)?;
    link_events::add_to_linker(linker)?;

    let mut agent_tools = linker.instance("portcullis:plugin/agent-tools@0.1.0")?;
    agent_tools.func_wrap("list-tools", |mut store: Store<'_>, (): ()| {
        let tools: Vec<Tool> =
            store.data_mut().call()?.agent_tools.list().into_iter().map(convert::tool_to_guest).collect();
        charge(&mut store, price::CALL * (1 + tools.len() as u64))?;
        Ok((tools,))
    })?;
    agent_tools.func_wrap_async(
        "call",
        |store: Store<'_>, (name, arguments, options): (String, String, CallOptions)| {
            Box::new(async move {
                let calls = vec![AgentCall { name, arguments, options }];
                let mut results = call_agent_tools(store, calls).await?;
                Ok((results.pop().unwrap_or(Err(AgentError::Cancelled)),))
            })
        },
    )?;
    agent_tools.func_wrap_async("call-many", |store: Store<'_>, (calls,): (Vec<AgentCall>,)| {
        Box::new(async move { Ok((call_agent_tools(store, calls).await?,)) })
    })?;

    let mut steering = linker.instance("portcullis:plugin/steering@0.1.0")?;
    steering.func_wrap("next", |mut store: Store<'_>, (): ()| {
        charge(&mut store, price::CALL)?;
        Ok((store.data_mut().call()?.steering.next(),))
    })?;

    link_client::add_to_linker(linker)?;
    link_state::add_to_linker(linker)?;
    link_connections::add_to_linker(linker)
}

/// Calls that are made at once share evenly what fuel and CPU time is left, so that together they never use more, and
/// always get the same.
async fn call_agent_tools(
    mut store: Store<'_>,
    calls: Vec<AgentCall>,
) -> wasmtime::Result<Vec<Result<AgentResult, AgentError>>> {
    let arguments: u64 = calls.iter().map(|call| call.arguments.len() as u64).sum();
    let number = calls.len() as u64;
    charge(&mut store, number.saturating_mul(price::REVERSE_CALL) + arguments.saturating_mul(price::BYTE))?;
    let fuel = store.get_fuel().ok();
    let guest = store.data_mut();
    let budget = guest.supervision().left(fuel).shared_by(calls.len());
    let (cancel, pausable_deadline) =
        (guest.supervision().allowance().cancel.clone(), guest.supervision().allowance().pausable_deadline.clone());
    let (held, now) = (guest.supervision().held(), guest.clock.now());
    let running = guest.call()?;
    let check = |AgentCall { name, arguments, options }| {
        let timeout = options.timeout_ms.map(Duration::from_millis);
        let options = crate::imports::CallOptions { timeout, purpose: options.purpose, chunks: options.chunks };
        let (client, cancel, pausable_deadline) = (running.client.calls(), cancel.clone(), pausable_deadline.clone());
        let (context, output, questions) = (&running.context, &running.output, running.client.questions());
        let caller = Caller { context, output, budget, now, cancel, client, questions, pausable_deadline, held };
        running.agent_tools.check(name, arguments, &options, caller)
    };
    let checked = calls.into_iter().map(check).collect();
    let made = running.agent_tools.make(checked).await;
    let mut results = Vec::with_capacity(made.len());
    let (mut spent, mut elsewhere) = (0u64, Duration::ZERO);
    for (result, cost) in made {
        // CPU time of a nested call is already in ours, unless it was spent elsewhere; the deadline is one point in time.
        spent = spent.saturating_add(cost.as_fuel());
        elsewhere = elsewhere.saturating_add(cost.elsewhere);
        results.push(result.map(convert::agent_result_to_guest).map_err(convert::agent_error_to_guest));
    }
    store.data_mut().supervision().pay(elsewhere);
    charge(&mut store, spent)?;
    Ok(results)
}

/// Takes fuel for host work. A call metered by CPU time pays by the time the work takes.
pub(super) fn charge(store: &mut Store<'_>, price: u64) -> wasmtime::Result<()> {
    let Ok(left) = store.get_fuel() else { return Ok(()) };
    store.set_fuel(left.saturating_sub(price))?;
    if left < price {
        return Err(Trap::OutOfFuel.into());
    }
    Ok(())
}
