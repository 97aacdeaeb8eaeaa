//! A module's code and contents with the indices of the merged module.

use super::outline::{FUNCTIONS, GLOBALS, MEMORIES, SPACES, TABLES};
use std::collections::HashMap;
use std::convert::Infallible;
use wasm_encoder::Instruction;
use wasm_encoder::reencode::{Error, Reencode, utils};
use wasmparser::Operator;

pub(super) type Result<T> = std::result::Result<T, Error<Infallible>>;

/// Maps the indices of one module to those of the merged one.
#[derive(Clone, Default)]
pub(super) struct Renumber<'a> {
    /// The index of the module's first type in the merged module.
    pub(super) types: u32,
    pub(super) data: u32,
    pub(super) elements: u32,
    /// The new indices of the items of each space, imports first. None for items that are left out.
    pub(super) spaces: [Vec<Option<u32>>; SPACES],
    /// Globals of the merged module that never change.
    pub(super) constants: Option<&'a HashMap<u32, i32>>,
}

impl Renumber<'_> {
    pub(super) fn item(&self, space: usize, index: u32) -> Option<u32> {
        *self.spaces[space].get(usize::try_from(index).ok()?)?
    }

    /// The module is valid, so it names nothing that it lacks; if it did, the merged one would not be valid.
    fn known(&self, space: usize, index: u32) -> Result<u32> {
        Ok(self.item(space, index).unwrap_or(u32::MAX))
    }
}

impl Reencode for Renumber<'_> {
    type Error = Infallible;

    fn type_index(&mut self, index: u32) -> Result<u32> {
        Ok(self.types + index)
    }

    fn function_index(&mut self, index: u32) -> Result<u32> {
        self.known(FUNCTIONS, index)
    }

    fn table_index(&mut self, index: u32) -> Result<u32> {
        self.known(TABLES, index)
    }

    fn memory_index(&mut self, index: u32) -> Result<u32> {
        self.known(MEMORIES, index)
    }

    fn global_index(&mut self, index: u32) -> Result<u32> {
        self.known(GLOBALS, index)
    }

    fn data_index(&mut self, index: u32) -> Result<u32> {
        Ok(self.data + index)
    }

    fn element_index(&mut self, index: u32) -> Result<u32> {
        Ok(self.elements + index)
    }

    /// Replaces a global that never changes by its value, so that the compiler knows the places of data and table entries.
    fn instruction<'b>(&mut self, operator: Operator<'b>) -> Result<Instruction<'b>> {
        if let Operator::GlobalGet { global_index } = operator {
            let global = self.known(GLOBALS, global_index)?;
            if let Some(value) = self.constants.and_then(|constants| constants.get(&global)) {
                return Ok(Instruction::I32Const(*value));
            }
        }
        utils::instruction(self, operator)
    }
}
