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
    /// For a method. If it takes anything, that is the first parameter.
    pub(super) receiver: Option<Receiver>,
    /// None if it returns nothing.
    pub(super) ok: Option<Ty>,
    /// For one that returns a `result`: the type of its error, if it has one.
    pub(super) err: Option<Option<Ty>>,
    /// If bytes can be passed at once.
    pub(super) shape: Option<Shape>,
    pub(super) hostcall_divisor: u64,
}

impl PlainFunction {
    /// For messages.
    pub(super) fn full_name(&self) -> String {
        full_name(self.interface.as_deref(), &self.name)
    }
}

pub(super) fn full_name(interface: Option<&str>, name: &str) -> String {
    let name = interface.map_or_else(|| name.to_owned(), |interface| format!("{interface}#{name}"));
    truncate_with(&name, MAX_NAME, "…")
}
