//! From modules of WebAssembly to the component of a plugin.

pub(crate) mod module;
pub(crate) mod passive_segments;
pub(crate) mod records_as_tuples;
pub(crate) mod single_module;
