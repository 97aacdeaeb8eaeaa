//! A function of a component that can be a tool.

use super::bytes::Shape;
use super::resources::Receiver;
use super::types::Ty;
use platform::text::truncate_with;
use wasmtime::component::ComponentExportIndex;

/// Characters of a name in messages: one of 64 is the longest that a tool may have.
const MAX_NAME: usize = 150;

pub(super) struct PlainFunction {
    /// As the component exports it.
    pub(super) interface: Option<String>,
    pub(super) name: String,
    pub(super) index: ComponentExportIndex,
    pub(super) params: Vec<(String, Ty)>,
    /// How the resource is made, for a method. If its constructor has parameters, the first of `params` is a record of them.
    pub(super) receiver: Option<Receiver>,
    /// None if it returns nothing.
    pub(super) ok: Option<Ty>,
    /// The type of the error, if it has one, for a function that returns a `result`.
    pub(super) err: Option<Option<Ty>>,
    /// Set if bytes can be passed as a whole.
    pub(super) shape: Option<Shape>,
    pub(super) hostcall_divisor: u64,
}

impl PlainFunction {
    /// The name for messages, with that of the interface.
    pub(super) fn full_name(&self) -> String {
        full_name(self.interface.as_deref(), &self.name)
    }
}

pub(super) fn full_name(interface: Option<&str>, name: &str) -> String {
    let name = interface.map_or_else(|| name.to_owned(), |interface| format!("{interface}#{name}"));
    truncate_with(&name, MAX_NAME, "…")
}
