//! Runs the call of a task: serves it, asks what it asks, stores its state meanwhile, and decides what becomes of it.

pub(super) mod extension;
pub(super) mod fate;
pub(super) mod questions;
pub(super) mod recorder;
pub(super) mod runner;
pub(super) mod sampler;
pub(super) mod serve;
pub(super) mod suspension;
pub(super) mod tool_calls;
