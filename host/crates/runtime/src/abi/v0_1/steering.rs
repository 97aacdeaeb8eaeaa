//! The import `steering`.

use super::super::guest::Guest;
use super::store::{Store, charge};
use crate::imports::price;
use wasmtime::component::Linker;

pub(super) fn add_to_linker(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
    let mut steering = linker.instance("portcullis:plugin/steering@0.1.0")?;
    steering.func_wrap("next", |mut store: Store<'_>, (): ()| {
        charge(&mut store, price::CALL)?;
        Ok((store.data_mut().imports()?.next_steering(),))
    })
}
