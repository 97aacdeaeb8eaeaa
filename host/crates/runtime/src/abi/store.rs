//! What the imports and conversions share: their view of the Store, and the charge for host work.

use super::guest::Guest;
use crate::imports::price;
use wasmtime::{StoreContextMut, Trap};

pub(super) type Store<'a> = StoreContextMut<'a, Guest>;

/// Takes fuel for host work. A call metered by CPU time pays with the time that the work takes.
pub(super) fn charge(store: &mut Store<'_>, price: u64) -> wasmtime::Result<()> {
    let Ok(left) = store.get_fuel() else { return Ok(()) };
    store.set_fuel(left.saturating_sub(price))?;
    if left < price {
        return Err(Trap::OutOfFuel.into());
    }
    Ok(())
}

/// Takes fuel for host work on this many bytes.
pub(super) fn charge_with_bytes(store: &mut Store<'_>, price: u64, bytes: u64) -> wasmtime::Result<()> {
    charge(store, price.saturating_add(bytes.saturating_mul(price::BYTE)))
}
