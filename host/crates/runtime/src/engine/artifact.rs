//! Loads compiled code: the only unsafe code of the host.
#![allow(unsafe_code, reason = "compiled code can only be loaded on trust; this file argues why it is trusted")]

use super::cache::TrustedCode;
use wasmtime::Engine;
use wasmtime::component::Component;

pub(super) fn load(engine: &Engine, code: &TrustedCode) -> wasmtime::Result<Component> {
    // SAFETY: `deserialize` runs whatever machine code it is given. A `TrustedCode` exists only for bytes that our own
    // compile worker wrote to a pipe we opened, or that carry our own MAC from an earlier such run under a key that
    // only this user can read. `incremental` replaces bytes only where the compiler has put the image of a guest's memory:
    // that is data, which no code of ours or the guest's trusts. The bytes are in private memory: nobody can change them
    // after the check.
    unsafe { Component::deserialize(engine, code.bytes()) }
}
