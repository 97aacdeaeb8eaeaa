//! The epoch ticker: makes every running guest come up for air.

use std::time::Duration;
use wasmtime::Engine;

/// How often a guest yields to the executor and its CPU time is checked.
const TICK: Duration = Duration::from_millis(5);

/// Advances an engine's epoch for as long as anything uses the engine. A thread rather than a task, because a busy
/// executor is the very thing it has to interrupt.
pub(super) fn start(engine: &Engine) -> std::io::Result<()> {
    let engine = engine.weak();
    let tick = move || {
        while let Some(engine) = engine.upgrade() {
            engine.increment_epoch();
            drop(engine);
            std::thread::sleep(TICK);
        }
    };
    std::thread::Builder::new().name("epoch".into()).stack_size(128 << 10).spawn(tick).map(|_| ())
}
