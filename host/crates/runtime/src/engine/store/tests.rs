//! What becomes of a call when a function of the host panics in it.

use super::*;
use crate::engine::Engines;
use platform::clock::SystemClock;
use policy::Metering;
use std::future::pending;
use std::sync::Mutex;
use std::task::Poll;
use wasmtime::component::{Component, Linker};

/// Calls `boom` of the host.
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

/// What calls share, locked while one of them panics.
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
                let _held = SHARED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                assert_eq!(how, 0, "of the host");
                Ok(())
            })
        })
        .unwrap();
    linker
}

async fn call(engine: &Engine, component: &Component, how: u32) -> (Result<(), CallError>, Cost) {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let limits = Limits::default();
    let budget = Budget::root(&limits, clock.now());
    let pausable_deadline = PausableDeadline::new(clock.clone());
    let allowance = Allowance { limits, budget, cancel: CancellationToken::new(), pausable_deadline, held_above: 0 };
    let mut store = new_store(engine, Data(Supervision::new(allowance, clock)));
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
async fn a_panicking_function_of_the_host_costs_one_call() {
    let engines = Engines::new();
    let engine = engines.get(Metering::Fuel).unwrap();
    let component = Component::new(engine, wat::parse_str(CALLER).unwrap()).unwrap();
    // The lock is poisoned by the first; more calls than the pool has slots show that each gives its own back.
    for number in 0..1_400 {
        let how = 1 + number % 2;
        let (result, cost) = call(engine, &component, how).await;
        assert_eq!(result, Err(CallError::Internal));
        assert!(cost.spent.fuel.is_some_and(|fuel| fuel > 0), "what it used until then is counted");
    }
    assert_eq!(call(engine, &component, 0).await.0, Ok(()));
}

#[tokio::test]
async fn work_that_panics_drops_what_it_holds() {
    let held = Arc::new(());
    let theirs = held.clone();
    let work = caught(async move {
        let _theirs = theirs;
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
    assert_eq!(work.await, Err(CallError::Internal));
    assert_eq!(Arc::strong_count(&held), 1);
}
