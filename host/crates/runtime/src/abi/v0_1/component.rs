//! Runs calls in instances of one component.

use super::super::guest::{Guest, GuestCallSetup};
use super::bindings::portcullis::plugin::types::CallContext;
use super::exports::Exports;
use super::ready::{ReadyCache, ReadyInstance};
use super::{completions, prompts, resources, tools, types};
use crate::engine::{
    Allowance, CallCost, CallError, Placement, Supervised as _, is_compute_thread, new_store, start_metering, supervise,
};
use crate::imports::wasi::MountError;
use crate::imports::{
    CallImports, Completion, CompletionQuery, EmbeddedResource, Offer, PromptResult, ReadError, ToolError, ToolResult,
};
use futures::future::BoxFuture;
use platform::clock::Clock;
use policy::Authority;
use std::sync::Arc;
use tokio::sync::OwnedSemaphorePermit;
use wasmtime::component::{Instance, InstancePre};
use wasmtime::{Engine, Store};

/// A component whose imports are resolved, ready to be instantiated any number of times. Clones share its ready
/// instance.
#[derive(Clone)]
pub struct PreparedComponent {
    engine: Engine,
    instance_pre: InstancePre<Guest>,
    exports: Arc<Exports>,
    ready: ReadyCache,
    placement: Placement,
}

/// How a call ended.
pub struct GuestOutcome<R> {
    pub result: Result<R, CallError>,
    pub cost: CallCost,
    /// What the imports counted and found; none if the call did not begin.
    pub imports: Option<Box<CallImports>>,
    pub spent_store: SpentStore,
}

/// The Store of a call that has ended. Dropping it gives the instance back to the pool, which takes some microseconds.
pub struct SpentStore(#[allow(dead_code, reason = "it is only ever dropped")] Option<Store<Guest>>);

impl PreparedComponent {
    pub(super) fn new(engine: Engine, instance_pre: InstancePre<Guest>) -> wasmtime::Result<Self> {
        let exports = Arc::new(Exports::find(&instance_pre)?);
        Ok(Self { engine, instance_pre, exports, ready: ReadyCache::default(), placement: Placement::default() })
    }

    /// Lists everything that the component offers, in one instance.
    pub async fn describe(&self, setup: GuestCallSetup) -> GuestOutcome<Offer> {
        let exports = self.exports.clone();
        self.run(setup, move |store, instance, _| {
            Box::pin(async move {
                let mut offer = Offer { completes: exports.completions.is_some(), ..Offer::default() };
                if let Some(export) = &exports.tools {
                    offer.tools = tools::list_tools(export, store, &instance).await?;
                }
                if let Some(export) = &exports.resources {
                    offer.resources = resources::list_resources(export, store, &instance).await?;
                    offer.templates = resources::list_templates(export, store, &instance).await?;
                }
                if let Some(export) = &exports.prompts {
                    offer.prompts = prompts::list_prompts(export, store, &instance).await?;
                }
                if let Some(export) = &exports.completions {
                    // Checks the types of the exported functions.
                    export.load(&mut *store, &instance)?;
                }
                Ok(offer)
            })
        })
        .await
    }

    pub async fn call_tool(
        &self,
        setup: GuestCallSetup,
        tool: String,
        arguments: String,
    ) -> GuestOutcome<Result<ToolResult, ToolError>> {
        let exports = self.exports.clone();
        self.run(setup, move |store, instance, context| {
            Box::pin(async move {
                let export = exported(&exports.tools)?;
                tools::call_tool(export, store, &instance, &context, &tool, &arguments).await
            })
        })
        .await
    }

    pub async fn read_resource(
        &self,
        setup: GuestCallSetup,
        uri: String,
    ) -> GuestOutcome<Result<Vec<EmbeddedResource>, ReadError>> {
        let exports = self.exports.clone();
        self.run(setup, move |store, instance, context| {
            Box::pin(async move {
                let export = exported(&exports.resources)?;
                resources::read_resource(export, store, &instance, &context, &uri).await
            })
        })
        .await
    }

    pub async fn get_prompt(
        &self,
        setup: GuestCallSetup,
        name: String,
        arguments: Vec<(String, String)>,
    ) -> GuestOutcome<Result<PromptResult, ToolError>> {
        let exports = self.exports.clone();
        self.run(setup, move |store, instance, context| {
            Box::pin(async move {
                let export = exported(&exports.prompts)?;
                prompts::get_prompt(export, store, &instance, &context, &name, &arguments).await
            })
        })
        .await
    }

    pub async fn complete(
        &self,
        setup: GuestCallSetup,
        query: CompletionQuery,
    ) -> GuestOutcome<Result<Completion, ToolError>> {
        let exports = self.exports.clone();
        self.run(setup, move |store, instance, context| {
            Box::pin(async move {
                let export = exported(&exports.completions)?;
                completions::complete(export, store, &instance, &context, query).await
            })
        })
        .await
    }

    /// Runs one call in the instance that is ready, or else in a new one.
    async fn run<R, F>(&self, setup: GuestCallSetup, call: F) -> GuestOutcome<R>
    where
        R: Send + 'static,
        F: for<'a> FnOnce(&'a mut Store<Guest>, Instance, CallContext) -> BoxFuture<'a, wasmtime::Result<R>>
            + Send
            + 'static,
    {
        let (mut store, ready, spent) = match self.ready.take() {
            Some(ReadyInstance { store, instance, spent, .. }) => (store, Some(instance), spent),
            None => match self.new_store(&setup.authority, setup.allowance.clone(), setup.clock.clone()) {
                Ok(store) => (store, None, 0),
                Err(error) => return not_begun(CallError::internal(error)),
            },
        };
        let deadline = setup.allowance.budget.deadline.saturating_duration_since(setup.clock.now());
        let context = types::context_to_guest(&setup.imports.context, deadline);
        let owner = (setup.imports.context.principal.clone(), setup.authority.plugin().clone());
        store.data_mut().begin_call(&setup.tool, setup.allowance, setup.imports);
        start_metering(&mut store, spent);
        let cpu = store.data_mut().supervision().cpu();
        let instance_pre = self.instance_pre.clone();
        let running = Box::pin(async move {
            let (result, cost) = supervise(&mut store, move |store| {
                Box::pin(async move {
                    let instance = match ready {
                        Some(instance) => instance,
                        None => instance_pre.instantiate_async(&mut *store).await?,
                    };
                    call(store, instance, context).await
                })
            })
            .await;
            let imports = store.data_mut().end_call();
            // A long call may hold much memory; here, on a thread of the compute pool, freeing it delays nobody.
            let spent_store = SpentStore(if is_compute_thread() { None } else { Some(store) });
            GuestOutcome { result, cost, imports, spent_store }
        });
        match setup.nested {
            true => running.await,
            false => self.placement.run(owner, cpu, running).await,
        }
    }

    /// Makes an instance for the next call, which holds `permit` until it is used. A component that cannot be
    /// instantiated outside a call is not tried again.
    pub async fn make_ready(
        &self,
        authority: &Authority,
        allowance: Allowance,
        clock: Arc<dyn Clock>,
        permit: OwnedSemaphorePermit,
    ) {
        let Ok(mut store) = self.new_store(authority, allowance, clock) else { return };
        let cpu = store.data_mut().supervision().cpu();
        let instance_pre = self.instance_pre.clone();
        let making = async move {
            let (instance, cost) = supervise(&mut store, move |store| {
                Box::pin(async move { instance_pre.instantiate_async(store).await })
            })
            .await;
            (instance, cost, store)
        };
        let owner = ("host".into(), authority.plugin().clone());
        match self.placement.run(owner, cpu, Box::pin(making)).await {
            (Ok(instance), cost, store) => {
                let spent = cost.spent.fuel.unwrap_or(0);
                self.ready.put(ReadyInstance { store, instance, spent, _permit: permit });
            }
            (Err(CallError::Busy { .. }), ..) => {}
            (Err(error), ..) => {
                tracing::debug!(plugin = %authority.plugin(), "cannot be instantiated before a call: {error}");
                self.ready.disable();
            }
        }
    }

    /// Whether an instance should be made for the next call.
    pub fn wants_ready(&self) -> bool {
        self.ready.is_wanted()
    }

    fn new_store(
        &self,
        authority: &Authority,
        allowance: Allowance,
        clock: Arc<dyn Clock>,
    ) -> Result<Store<Guest>, MountError> {
        Ok(new_store(&self.engine, Guest::new(authority, allowance, clock)?))
    }
}

/// An interface that is called only if it was found when the component was loaded.
fn exported<I>(indices: &Option<I>) -> wasmtime::Result<&I> {
    indices.as_ref().ok_or_else(|| wasmtime::Error::msg("the component does not export the interface that is called"))
}

fn not_begun<R>(error: CallError) -> GuestOutcome<R> {
    GuestOutcome { result: Err(error), cost: CallCost::default(), imports: None, spent_store: SpentStore(None) }
}
