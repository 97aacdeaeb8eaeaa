//! `portcullis:plugin@0.1.x`.

mod convert;
mod convert_client;
mod link;
mod link_client;
mod link_connections;
mod ready;

use super::guest::{CallSetup, Guest};
use crate::clock::Clock;
use crate::engine::{Allowance, CallError, Cost, arm, new_store, supervise};
use crate::imports::{CallCtx, Tool, ToolError, ToolResult};
use crate::policy::Authority;
use ready::{Instance, Ready};
use std::sync::Arc;
use tokio::sync::OwnedSemaphorePermit;
use wasmtime::component::{Component, Linker};
use wasmtime::{Engine, Store};

#[allow(missing_docs, unreachable_pub, clippy::all, reason = "generated from wit/v0.1, where the documentation is")]
mod bindings {
    wasmtime::component::bindgen!({
        path: "../wit/v0.1",
        world: "plugin",
        exports: { default: async },
    });
}

/// The imports of this version, linked once per engine.
pub struct Abi {
    linker: Linker<Guest>,
}

/// A component with its imports resolved: ready to be instantiated, any number of times. Clones are the same.
#[derive(Clone)]
pub struct Prepared {
    engine: Engine,
    pre: bindings::PluginPre<Guest>,
    ready: Ready,
}

/// How a call ended: the tool's answer or own error, or the reason there is none; its price; what is left of its state.
pub struct Ended<R> {
    /// The answer.
    pub result: Result<R, CallError>,
    /// The price.
    pub cost: Cost,
    /// Counters and findings of the imports; none when the call could not even begin.
    pub call: Option<CallCtx>,
    /// The spent instance. Dropping it gives its slot back, which takes some microseconds.
    pub remains: Remains,
}

/// A spent instance.
pub struct Remains(#[allow(dead_code, reason = "it is only ever dropped")] Option<Store<Guest>>);

impl Abi {
    /// Links all imports.
    pub fn new(engine: &Engine) -> wasmtime::Result<Self> {
        let mut linker = Linker::new(engine);
        crate::imports::wasi::add_to_linker(&mut linker)?;
        link::add_to_linker(&mut linker)?;
        Ok(Self { linker })
    }

    /// Resolves a component's imports; the error is a sentence that names the one that is not offered.
    pub fn prepare(&self, component: &Component) -> Result<Prepared, String> {
        let resolve = || bindings::PluginPre::new(self.linker.instantiate_pre(component)?);
        let pre = resolve().map_err(|error| format!("{error:#}"))?;
        Ok(Prepared { engine: self.linker.engine().clone(), pre, ready: Ready::default() })
    }
}

impl Prepared {
    /// Asks for the tools.
    pub async fn list_tools(&self, setup: CallSetup) -> Ended<Vec<Tool>> {
        let mut store = match self.fresh(&setup) {
            Ok(store) => store,
            Err(error) => return not_begun(error),
        };
        store.data_mut().begin(&setup.tool, setup.allowance, setup.call);
        let pre = self.pre.clone();
        let (result, cost) = supervise(&mut store, move |store| {
            Box::pin(async move {
                let plugin = pre.instantiate_async(&mut *store).await?;
                let tools = plugin.portcullis_plugin_tools().call_list_tools(store).await?;
                Ok(tools.into_iter().map(convert::tool_from_guest).collect())
            })
        })
        .await;
        Ended { result, cost, call: store.data_mut().end(), remains: Remains(Some(store)) }
    }

    /// Calls one tool in an instance of its own.
    pub async fn call_tool(
        &self,
        setup: CallSetup,
        tool: String,
        arguments: String,
    ) -> Ended<Result<ToolResult, ToolError>> {
        let (mut store, made, spent) = match self.ready.take() {
            Some(Instance { store, plugin, spent, .. }) => (store, Some(plugin), spent),
            None => match self.fresh(&setup) {
                Ok(store) => (store, None, 0),
                Err(error) => return not_begun(error),
            },
        };
        let deadline = setup.allowance.budget.deadline.saturating_duration_since(setup.clock.now());
        let context = convert::context_to_guest(&setup.call.context, deadline);
        store.data_mut().begin(&setup.tool, setup.allowance, setup.call);
        arm(&mut store, spent);
        let pre = self.pre.clone();
        let (result, cost) = supervise(&mut store, move |store| {
            Box::pin(async move {
                let plugin = match made {
                    Some(plugin) => plugin,
                    None => pre.instantiate_async(&mut *store).await?,
                };
                let tools = plugin.portcullis_plugin_tools();
                let answer = tools.call_call_tool(store, &context, &tool, &arguments).await?;
                Ok(answer.map(convert::result_from_guest).map_err(convert::error_from_guest))
            })
        })
        .await;
        Ended { result, cost, call: store.data_mut().end(), remains: Remains(Some(store)) }
    }

    /// Makes an instance for the next call, unless one is ready or the component cannot be instantiated outside a call.
    /// `slot` is held for as long as it waits.
    pub async fn make_ready(
        &self,
        authority: &Authority,
        allowance: Allowance,
        clock: Arc<dyn Clock>,
        slot: OwnedSemaphorePermit,
    ) {
        let Ok(guest) = Guest::new(authority, allowance, clock) else { return };
        let mut store = new_store(&self.engine, guest);
        let pre = self.pre.clone();
        let made =
            supervise(&mut store, move |store| Box::pin(async move { pre.instantiate_async(store).await })).await;
        match made {
            (Ok(plugin), cost) => {
                self.ready.put(Instance { spent: cost.spent.fuel.unwrap_or(0), store, plugin, _slot: slot });
            }
            (Err(CallError::Busy { .. }), _) => {}
            (Err(error), _) => {
                tracing::debug!(plugin = %authority.plugin(), "instances are made inside calls only: {error}");
                self.ready.never();
            }
        }
    }

    /// Whether an instance should be made for the next call.
    pub fn wants_ready(&self) -> bool {
        self.ready.wanted()
    }

    fn fresh(&self, setup: &CallSetup) -> Result<Store<Guest>, CallError> {
        let guest =
            Guest::new(&setup.authority, setup.allowance.clone(), setup.clock.clone()).map_err(CallError::internal)?;
        Ok(new_store(&self.engine, guest))
    }
}

fn not_begun<R>(error: CallError) -> Ended<R> {
    Ended { result: Err(error), cost: Cost::default(), call: None, remains: Remains(None) }
}
