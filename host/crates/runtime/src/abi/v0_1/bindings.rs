//! Types and export bindings generated from `wit/v0.1`, which documents them.
#![allow(missing_docs, unreachable_pub, clippy::all, reason = "generated code")]

wasmtime::component::bindgen!({
    path: "../../../wit/v0.1",
    world: "provider",
    exports: { default: async },
});
