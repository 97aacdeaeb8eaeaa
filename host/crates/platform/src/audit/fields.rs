//! The fields of one line of the log, written in order without building a JSON value first.

use serde::ser::{Serialize, SerializeMap};
use std::fmt;

/// The fields of a line, written one after the other.
pub(super) struct LineFields<M>(M);

impl<M: SerializeMap> LineFields<M> {
    pub(super) fn new(map: M) -> Self {
        Self(map)
    }

    pub(super) fn end(self) -> Result<M::Ok, M::Error> {
        self.0.end()
    }

    pub(super) fn add(&mut self, name: &'static str, value: &(impl Serialize + ?Sized)) -> Result<(), M::Error> {
        self.0.serialize_entry(name, value)
    }

    /// Adds the field only if its value is known.
    pub(super) fn add_some(&mut self, name: &'static str, value: Option<impl Serialize>) -> Result<(), M::Error> {
        value.map_or(Ok(()), |value| self.add(name, &value))
    }

    pub(super) fn add_shown(&mut self, name: &'static str, value: impl fmt::Display) -> Result<(), M::Error> {
        self.add(name, &format_args!("{value}"))
    }
}
