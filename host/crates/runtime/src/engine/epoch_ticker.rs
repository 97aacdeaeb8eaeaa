//! The epoch ticker: makes every running guest yield regularly.

use std::time::Duration;
use wasmtime::Engine;

/// How often a guest yields to the executor and its CPU time is checked.
const TICK: Duration = Duration::from_millis(5);

/// Advances an engine's epoch for as long as anything uses the engine. A thread and not a task, because it has to
/// interrupt guests that keep the executor busy.
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
