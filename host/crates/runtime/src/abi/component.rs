//! Runs calls in instances of one component.

use super::exports::Exports;
use super::guest::Guest;
use super::guest_call::{GuestAnswer, GuestCall};
use super::ready::{ReadyCache, ReadyInstance};
use super::v0_1;
use crate::engine::{
    Allowance, CallCost, CallError, FuelReport, InstancePermit, Placement, Supervised as _, is_compute_thread,
    new_store, start_metering, supervise,
};
use crate::imports::{CallImports, Offer};
use futures::future::BoxFuture;
use policy::{Authority, Principal};
use std::sync::Arc;
use tokio::sync::OwnedSemaphorePermit;
use wasmtime::component::{Instance, InstancePre};
use wasmtime::{Engine, Store};

/// A component whose imports are resolved. It belongs to no plugin: those with the same bytes share it.
pub struct LinkedComponent {
    engine: Engine,
    instance_pre: InstancePre<Guest>,
    exports: Exports,
}

impl LinkedComponent {
    pub(super) fn new(engine: Engine, instance_pre: InstancePre<Guest>, exports: Exports) -> Self {
        Self { engine, instance_pre, exports }
    }
}

/// A plugin's component, ready to be instantiated any number of times. Clones share its ready instance.
#[derive(Clone)]
pub struct PreparedComponent {
    linked: Arc<LinkedComponent>,
    ready: ReadyCache,
    placement: Placement,
}

/// How a call ended.
pub struct GuestOutcome<R> {
    pub result: Result<R, CallError>,
    pub cost: CallCost,
    /// What the imports counted and found; none if no call had begun.
    pub imports: Option<Box<CallImports>>,
    pub spent_store: SpentStore,
}

impl<R> GuestOutcome<R> {
    /// The outcome of a call whose component could not be loaded.
    pub fn not_started(error: CallError) -> Self {
        Self { result: Err(error), cost: CallCost::default(), imports: None, spent_store: SpentStore(None) }
    }
}

/// The Store of a call that has ended. Dropping it gives the instance back to the pool, which takes some microseconds.
pub struct SpentStore(#[allow(dead_code, reason = "it is only ever dropped")] Option<Store<Guest>>);

impl PreparedComponent {
    pub fn new(linked: Arc<LinkedComponent>) -> Self {
        Self { linked, ready: ReadyCache::default(), placement: Placement::default() }
    }

    /// Lists everything that the component offers, in one instance. `docs`: what its file says about its functions, if
    /// they are plain ones.
    pub async fn describe(
        &self,
        docs: Option<Arc<[u8]>>,
        imports: Box<CallImports>,
        allowance: Allowance,
    ) -> GuestOutcome<Offer> {
        let linked = self.linked.clone();
        self.run(&"describe".into(), imports, allowance, None, false, move |store, instance| {
            Box::pin(async move {
                match &linked.exports {
                    Exports::V0_1(exports) => exports.describe(store, &instance).await,
                    Exports::Foreign(foreign) => foreign.describe(store, &instance).await,
                    Exports::Plain(functions) => Ok(functions.describe(docs.as_deref())),
                }
            })
        })
        .await
    }

    /// Calls a function of the component, which the guest's log calls `name`. `nested`: another call of this host makes it,
    /// and it runs where that call runs.
    pub async fn call(
        &self,
        name: &Arc<str>,
        call: GuestCall,
        imports: Box<CallImports>,
        allowance: Allowance,
        permit: InstancePermit,
        nested: bool,
    ) -> GuestOutcome<GuestAnswer> {
        match &self.linked.exports {
            Exports::V0_1(exports) => {
                let (exports, context) = (exports.clone(), context_of(&imports, &allowance));
                self.run(name, imports, allowance, Some(permit), nested, move |store, instance| {
                    Box::pin(async move { v0_1::call(&exports, call, store, &instance, &context).await })
                })
                .await
            }
            Exports::Foreign(foreign) => {
                let foreign = foreign.clone();
                self.run(name, imports, allowance, Some(permit), nested, move |store, instance| {
                    Box::pin(async move { foreign.call(call, store, &instance).await })
                })
                .await
            }
            Exports::Plain(functions) => {
                let functions = functions.clone();
                self.run(name, imports, allowance, Some(permit), nested, move |store, instance| {
                    Box::pin(async move { functions.call(call, store, &instance).await })
                })
                .await
            }
        }
    }

    /// Runs one call in the instance that is ready, or else in a new one.
    async fn run<R, F>(
        &self,
        name: &Arc<str>,
        imports: Box<CallImports>,
        allowance: Allowance,
        permit: Option<InstancePermit>,
        nested: bool,
        call: F,
    ) -> GuestOutcome<R>
    where
        R: Send + 'static,
        F: for<'a> FnOnce(&'a mut Store<Guest>, Instance) -> BoxFuture<'a, wasmtime::Result<R>> + Send + 'static,
    {
        let authority = &imports.scope.authority;
        // What an instance has learnt before its call is not in the call's journal.
        let is_usable = |ready: &ReadyInstance| !imports.journal.is_on() || ready.store.data().is_as_made();
        let (mut store, ready, spent) = match self.ready.take().filter(is_usable) {
            Some(ReadyInstance { store, instance, spent, .. }) => (store, Some(instance), spent),
            None => (self.new_store(authority, allowance.clone()), None, 0),
        };
        let owner = (imports.scope.context.principal.clone(), authority.plugin().clone());
        let lineage = imports.scope.lineage.clone();
        let (fuel_limit, tree_fuel) = (allowance.budget.fuel, allowance.fuel.clone());
        store.data_mut().begin_call(name, allowance, imports, permit);
        start_metering(&mut store, spent);
        let cpu = store.data_mut().supervision().cpu();
        let report = FuelReport::new(lineage, cpu.clone(), fuel_limit, tree_fuel);
        let linked = self.linked.clone();
        let running = Box::pin(async move {
            let (result, mut cost) = supervise(&mut store, move |store| {
                Box::pin(async move {
                    let instance = match ready {
                        Some(instance) => instance,
                        None => linked.instance_pre.instantiate_async(&mut *store).await?,
                    };
                    call(store, instance).await
                })
            })
            .await;
            report.finish(&mut cost);
            let imports = store.data_mut().end_call();
            // A long call may hold much memory; here, on a thread of the compute pool, freeing it delays nobody.
            let spent_store = SpentStore(if is_compute_thread() { None } else { Some(store) });
            GuestOutcome { result, cost, imports, spent_store }
        });
        match nested {
            true => running.await,
            false => self.placement.run(owner, cpu, running).await,
        }
    }

    /// Makes an instance for the next call, which holds `permit` until it is used. A component that cannot be
    /// instantiated outside a call is not tried again.
    pub async fn make_ready(&self, authority: &Authority, allowance: Allowance, permit: OwnedSemaphorePermit) {
        let mut store = self.new_store(authority, allowance);
        let cpu = store.data_mut().supervision().cpu();
        let linked = self.linked.clone();
        let making = async move {
            let (instance, cost) = supervise(&mut store, move |store| {
                Box::pin(async move { linked.instance_pre.instantiate_async(store).await })
            })
            .await;
            (instance, cost, store)
        };
        let owner = (Principal::host(), authority.plugin().clone());
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

    /// Whether the component can be asked about effects whose outcome is unknown.
    pub fn reconciles(&self) -> bool {
        match &self.linked.exports {
            Exports::V0_1(exports) => exports.reconcile.is_some(),
            Exports::Foreign(_) | Exports::Plain(_) => false,
        }
    }

    /// Whether an instance should be made for the next call.
    pub fn wants_ready(&self) -> bool {
        self.ready.is_wanted()
    }

    fn new_store(&self, authority: &Authority, allowance: Allowance) -> Store<Guest> {
        new_store(&self.linked.engine, Guest::new(authority, allowance))
    }
}

/// What a guest of the API is told about its call.
fn context_of(imports: &CallImports, allowance: &Allowance) -> v0_1::CallContext {
    v0_1::context_to_guest(&imports.scope.context, allowance.time_left())
}
