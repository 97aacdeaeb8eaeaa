//! `portcullis:plugin@0.1.x`.

mod convert;
mod convert_client;
mod convert_offer;
mod exports;
mod link;
mod link_client;
mod link_connections;
mod link_events;
mod link_http;
mod link_publish;
mod link_state;
mod ready;

use super::guest::{CallSetup, Guest};
use crate::engine::{Allowance, CallError, Cost, Pace, Supervised as _, arm, is_slow, new_store, supervise};
use crate::imports::{
    CallCtx, Completion, CompletionQuery, EmbeddedResource, Offer, PromptResult, ReadError, ToolError, ToolResult,
};
use bindings::portcullis::plugin::types::CallContext;
use exports::Exports;
use futures::future::BoxFuture;
use platform::clock::Clock;
use policy::Authority;
use ready::{Instance, Ready};
use std::sync::Arc;
use tokio::sync::OwnedSemaphorePermit;
use wasmtime::component::{self, Component, InstancePre, Linker};
use wasmtime::{Engine, Store};

#[allow(missing_docs, unreachable_pub, clippy::all, reason = "generated from wit/v0.1, where the documentation is")]
mod bindings {
    wasmtime::component::bindgen!({
        path: "../../../wit/v0.1",
        world: "provider",
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
    pre: InstancePre<Guest>,
    exports: Arc<Exports>,
    ready: Ready,
    pace: Pace,
}

/// How a call ended: the tool's answer or own error, or the reason there is none; its price; what is left of its state.
pub struct Ended<R> {
    /// The answer.
    pub result: Result<R, CallError>,
    /// The price.
    pub cost: Cost,
    /// Counters and findings of the imports; none when the call could not even begin.
    pub call: Option<Box<CallCtx>>,
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
        link_http::add_to_linker(&mut linker)?;
        link::add_to_linker(&mut linker)?;
        Ok(Self { linker })
    }

    /// Resolves a component's imports; the error is a sentence that names the one that is not offered.
    pub fn prepare(&self, component: &Component) -> Result<Prepared, String> {
        let sentence = |error: wasmtime::Error| format!("{error:#}");
        let pre = self.linker.instantiate_pre(component).map_err(sentence)?;
        let exports = Arc::new(Exports::find(&pre).map_err(sentence)?);
        Ok(Prepared {
            engine: self.linker.engine().clone(),
            pre,
            exports,
            ready: Ready::default(),
            pace: Pace::default(),
        })
    }
}

impl Prepared {
    /// Asks for everything it offers, in one instance.
    pub async fn describe(&self, setup: CallSetup) -> Ended<Offer> {
        let exports = self.exports.clone();
        self.run(setup, move |store, instance, _| {
            Box::pin(async move {
                let mut offer = Offer { completes: exports.completions.is_some(), ..Offer::default() };
                if let Some(tools) = &exports.tools {
                    let listed = tools.load(&mut *store, &instance)?.call_list_tools(&mut *store).await?;
                    offer.tools = listed.into_iter().map(convert::tool_from_guest).collect();
                }
                if let Some(resources) = &exports.resources {
                    let resources = resources.load(&mut *store, &instance)?;
                    let listed = resources.call_list_resources(&mut *store).await?;
                    offer.resources = listed.into_iter().map(convert_offer::resource_from_guest).collect();
                    let listed = resources.call_list_templates(&mut *store).await?;
                    offer.templates = listed.into_iter().map(convert_offer::template_from_guest).collect();
                }
                if let Some(prompts) = &exports.prompts {
                    let listed = prompts.load(&mut *store, &instance)?.call_list_prompts(&mut *store).await?;
                    offer.prompts = listed.into_iter().map(convert_offer::prompt_from_guest).collect();
                }
                if let Some(completions) = &exports.completions {
                    // Nothing to ask, but what is exported has the right type or the component is refused.
                    completions.load(&mut *store, &instance)?;
                }
                Ok(offer)
            })
        })
        .await
    }

    /// Calls one tool.
    pub async fn call_tool(
        &self,
        setup: CallSetup,
        tool: String,
        arguments: String,
    ) -> Ended<Result<ToolResult, ToolError>> {
        let exports = self.exports.clone();
        self.run(setup, move |store, instance, context| {
            Box::pin(async move {
                let tools = there(&exports.tools)?.load(&mut *store, &instance)?;
                let answer = tools.call_call_tool(store, &context, &tool, &arguments).await?;
                Ok(answer.map(convert::result_from_guest).map_err(convert::error_from_guest))
            })
        })
        .await
    }

    /// Reads one resource.
    pub async fn read_resource(
        &self,
        setup: CallSetup,
        uri: String,
    ) -> Ended<Result<Vec<EmbeddedResource>, ReadError>> {
        let exports = self.exports.clone();
        self.run(setup, move |store, instance, context| {
            Box::pin(async move {
                let resources = there(&exports.resources)?.load(&mut *store, &instance)?;
                let answer = resources.call_read_resource(store, &context, &uri).await?;
                Ok(convert_offer::read_from_guest(answer))
            })
        })
        .await
    }

    /// Fills in one prompt.
    pub async fn get_prompt(
        &self,
        setup: CallSetup,
        name: String,
        arguments: Vec<(String, String)>,
    ) -> Ended<Result<PromptResult, ToolError>> {
        let exports = self.exports.clone();
        self.run(setup, move |store, instance, context| {
            Box::pin(async move {
                let prompts = there(&exports.prompts)?.load(&mut *store, &instance)?;
                let answer = prompts.call_get_prompt(store, &context, &name, &arguments).await?;
                Ok(answer.map(convert_offer::prompt_result_from_guest).map_err(convert::error_from_guest))
            })
        })
        .await
    }

    /// Suggests values for an argument.
    pub async fn complete(&self, setup: CallSetup, query: CompletionQuery) -> Ended<Result<Completion, ToolError>> {
        let exports = self.exports.clone();
        self.run(setup, move |store, instance, context| {
            Box::pin(async move {
                let completions = there(&exports.completions)?.load(&mut *store, &instance)?;
                let CompletionQuery { of, argument, value, context: given } = query;
                let of = convert_offer::completing_to_guest(of);
                let answer = completions.call_complete(store, &context, &of, &argument, &value, &given).await?;
                Ok(answer.map(convert_offer::completion_from_guest).map_err(convert::error_from_guest))
            })
        })
        .await
    }

    /// Runs one call in an instance of its own: the one that is ready, or a new one.
    async fn run<R, F>(&self, setup: CallSetup, call: F) -> Ended<R>
    where
        R: Send + 'static,
        F: for<'a> FnOnce(&'a mut Store<Guest>, component::Instance, CallContext) -> BoxFuture<'a, wasmtime::Result<R>>
            + Send
            + 'static,
    {
        let (mut store, made, spent) = match self.ready.take() {
            Some(Instance { store, instance, spent, .. }) => (store, Some(instance), spent),
            None => match self.fresh(&setup) {
                Ok(store) => (store, None, 0),
                Err(error) => return not_begun(error),
            },
        };
        let deadline = setup.allowance.budget.deadline.saturating_duration_since(setup.clock.now());
        let context = convert::context_to_guest(&setup.call.context, deadline);
        let who = (setup.call.context.principal.clone(), setup.authority.plugin().clone());
        store.data_mut().begin(&setup.tool, setup.allowance, setup.call);
        arm(&mut store, spent);
        let cpu = store.data_mut().supervision().cpu();
        let pre = self.pre.clone();
        let running = Box::pin(async move {
            let (result, cost) = supervise(&mut store, move |store| {
                Box::pin(async move {
                    let instance = match made {
                        Some(instance) => instance,
                        None => pre.instantiate_async(&mut *store).await?,
                    };
                    call(store, instance, context).await
                })
            })
            .await;
            let call = store.data_mut().end();
            // What took long may hold much, and giving that back delays nobody here.
            let remains = Remains(if is_slow() { None } else { Some(store) });
            Ended { result, cost, call, remains }
        });
        match setup.nested {
            true => running.await,
            false => self.pace.run(who, cpu, running).await,
        }
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
        let cpu = store.data_mut().supervision().cpu();
        let pre = self.pre.clone();
        let making = async move {
            let made = supervise(&mut store, move |store| Box::pin(async move { pre.instantiate_async(store).await }));
            (made.await, store)
        };
        let who = ("host".into(), authority.plugin().clone());
        let (made, store) = self.pace.run(who, cpu, Box::pin(making)).await;
        match made {
            (Ok(instance), cost) => {
                self.ready.put(Instance { spent: cost.spent.fuel.unwrap_or(0), store, instance, _slot: slot });
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

/// An interface that is called only because it was found when the component was loaded.
fn there<I>(indices: &Option<I>) -> wasmtime::Result<&I> {
    indices.as_ref().ok_or_else(|| wasmtime::Error::msg("the component does not export the interface that is called"))
}

fn not_begun<R>(error: CallError) -> Ended<R> {
    Ended { result: Err(error), cost: Cost::default(), call: None, remains: Remains(None) }
}
