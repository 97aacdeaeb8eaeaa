//! The import `meter`.

use super::super::guest::Guest;
use super::store::Store;
use crate::engine::Supervised as _;
use wasmtime::component::Linker;

pub(super) fn add_to_linker(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
    let mut meter = linker.instance("portcullis:plugin/meter@0.1.0")?;
    meter.func_wrap("fuel-left", |mut store: Store<'_>, (): ()| {
        let in_store = store.get_fuel().ok();
        let guest = store.data_mut();
        let left = guest.supervision().fuel_left(in_store);
        // More may have been added by the time the call is replayed.
        Ok((match guest.imports() {
            Ok(imports) => imports.journal.begin("meter.fuel-left", &()).see(|| left),
            Err(_) => left,
        },))
    })?;
    meter.func_wrap("deadline-left", |mut store: Store<'_>, (): ()| {
        let guest = store.data_mut();
        let left = guest.supervision().allowance().time_left();
        let left = || u64::try_from(left.as_millis()).unwrap_or(u64::MAX);
        Ok((match guest.imports() {
            Ok(imports) => imports.journal.begin("meter.deadline-left", &()).see(left),
            Err(_) => left(),
        },))
    })
}
