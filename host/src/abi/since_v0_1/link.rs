//! The imports of `portcullis:plugin@0.1.x`, each charged for the work it makes the host do.

use super::super::guest::Guest;
use super::bindings::portcullis::plugin::agent_tools::{AgentError, CallOptions};
use super::bindings::portcullis::plugin::log::Level;
use super::bindings::portcullis::plugin::output::OutputError;
use super::bindings::portcullis::plugin::types::{Content, Tool, ToolResult};
use super::{convert, link_client, link_connections, link_events, link_publish};
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
            Box::new(async move { Ok((call_agent_tool(store, name, arguments, options).await?,)) })
        },
    )?;
    link_client::add_to_linker(linker)?;
    link_connections::add_to_linker(linker)
}

async fn call_agent_tool(
    mut store: Store<'_>,
    name: String,
    arguments: String,
    options: CallOptions,
) -> wasmtime::Result<Result<ToolResult, AgentError>> {
    charge(&mut store, price::REVERSE_CALL + (arguments.len() as u64).saturating_mul(price::BYTE))?;
    let fuel = store.get_fuel().ok();
    let options = crate::imports::CallOptions {
        timeout: options.timeout_ms.map(Duration::from_millis),
        purpose: options.purpose,
    };
    let guest = store.data_mut();
    let (budget, cancel) = (guest.supervision().left(fuel), guest.supervision().allowance().cancel.clone());
    let (standstill, held) = (guest.supervision().allowance().standstill.clone(), guest.supervision().held());
    let now = guest.clock.now();
    let running = guest.call()?;
    let client = running.client.calls();
    let caller = Caller { context: &running.context, budget, now, cancel, client, standstill, held };
    let call = match running.agent_tools.check(name, arguments, &options, caller) {
        Ok(call) => call,
        Err(error) => return Ok(Err(convert::agent_error_to_guest(error))),
    };
    let (result, spent) = running.agent_tools.caller().call(call).await;
    // Only fuel has to be taken: CPU time of a nested call is already in ours, and the deadline is one point in time.
    charge(&mut store, spent.as_fuel())?;
    Ok(result.map(convert::result_to_guest).map_err(convert::agent_error_to_guest))
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
