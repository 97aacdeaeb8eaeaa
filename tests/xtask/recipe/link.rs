//! The import `dice`.

use super::super::guest::Guest;
use super::bindings::portcullis::plugin::dice as w;
use super::store::{Store, charge};
use super::types::denial_to_guest;
use crate::imports::{RollError, price};
use wasmtime::component::Linker;

pub(super) fn add_to_linker(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
    let mut dice = linker.instance("portcullis:plugin/dice@0.1.0")?;
    dice.func_wrap("roll", |mut store: Store<'_>, (sides,): (u32,)| {
        charge(&mut store, price::CALL)?;
        let imports = store.data_mut().imports()?;
        let span = imports.start_span("dice.roll", 0);
        let rolled = imports.dice().roll(sides);
        Ok((span.finish_with(rolled, |_| 0).map_err(error_to_guest),))
    })
}

fn error_to_guest(error: RollError) -> w::RollError {
    match error {
        RollError::Denied(denial) => w::RollError::Denied(denial_to_guest(denial)),
        RollError::Invalid(reason) => w::RollError::Invalid(reason),
    }
}
