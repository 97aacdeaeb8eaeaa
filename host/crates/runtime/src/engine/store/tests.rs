//! Calls in which a host function panics.

use super::super::pausable_clock::PausableClock;
use super::super::profile::Engines;
use super::super::supervision::Supervision;
use super::*;
use platform::clock::{Clock, SystemClock};
use platform::sync::Mutex;
use policy::{Budget, Limits};
use std::future::pending;
use std::sync::Arc;
use std::task::Poll;
use tokio_util::sync::CancellationToken;
use wasmtime::component::{Component, Linker};

/// A component that calls the host function `boom`.
const CALLER: &str = r#"(component
    (import "boom" (func $boom (param "how" u32)))
    (core func $lowered (canon lower (func $boom)))
    (core module $m
        (import "" "boom" (func $boom (param i32)))
        (func (export "run") (param i32) (call $boom (local.get 0))))
    (core instance $i (instantiate $m (with "" (instance (export "boom" (func $lowered))))))
    (func (export "run") (param "how" u32) (canon lift (core func $i "run"))))"#;

struct Data(Supervision);

impl Supervised for Data {
    fn supervision(&mut self) -> &mut Supervision {
        &mut self.0
    }
}

/// State shared by calls, locked while one of them panics.
static SHARED: Mutex<u32> = Mutex::new(0);

fn linker(engine: &Engine) -> Linker<Data> {
    let mut linker = Linker::new(engine);
    linker
        .root()
        .func_wrap_async("boom", |_: wasmtime::StoreContextMut<'_, Data>, (how,): (u32,)| {
            Box::new(async move {
                if how == 2 {
                    tokio::task::yield_now().await;
                }
                let _held = SHARED.lock();
                assert_eq!(how, 0, "a panic of the host");
                Ok(())
            })
        })
        .unwrap();
    linker
}

async fn call(engine: &Engine, component: &Component, how: u32) -> (Result<(), CallError>, CallCost) {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let limits = Arc::new(Limits::default());
    let budget = Budget::root(&limits, clock.now());
    let pausable_clock = PausableClock::new(clock.clone());
    let allowance = Allowance { limits, budget, cancel: CancellationToken::new(), pausable_clock, fuel: None };
    let mut store = new_store(engine, Data(Supervision::new(allowance)));
    let pre = linker(engine).instantiate_pre(component).unwrap();
    supervise(&mut store, move |store| {
        Box::pin(async move {
            let instance = pre.instantiate_async(&mut *store).await?;
            let run = instance.get_typed_func::<(u32,), ()>(&mut *store, "run")?;
            run.call_async(&mut *store, (how,)).await
        })
    })
    .await
}

#[tokio::test]
async fn a_panic_in_a_host_function_ends_only_its_call() {
    let engines = Engines::new();
    let engine = engines.get(policy::Metering::Fuel).unwrap();
    let component = Component::new(engine, wat::parse_str(CALLER).unwrap()).unwrap();
    // The first call poisons the lock. More calls than the pool has instances show that each gives its instance back.
    for number in 0..1_400 {
        let how = 1 + number % 2;
        let (result, cost) = call(engine, &component, how).await;
        assert_eq!(result, Err(CallError::Internal));
        assert!(cost.spent.fuel.is_some_and(|fuel| fuel > 0), "fuel used until the panic is counted");
    }
    assert_eq!(call(engine, &component, 0).await.0, Ok(()));
}

#[tokio::test]
async fn a_future_that_panics_is_dropped() {
    let resource = Arc::new(());
    let held = resource.clone();
    let future = catch_panic(async move {
        let _held = held;
        let mut polled = false;
        std::future::poll_fn(|context| {
            assert!(!polled, "at the second poll");
            polled = true;
            context.waker().wake_by_ref();
            Poll::<()>::Pending
        })
        .await;
        pending::<()>().await;
    });
    assert_eq!(future.await, Err(CallError::Internal));
    assert_eq!(Arc::strong_count(&resource), 1);
}
