//! Takes fuel for host work.

use wasmtime::{StoreContextMut, Trap};

/// A call metered by CPU time pays with the time that the work takes.
pub(crate) fn charge<T>(store: &mut StoreContextMut<'_, T>, price: u64) -> wasmtime::Result<()> {
    let Ok(left) = store.get_fuel() else { return Ok(()) };
    store.set_fuel(left.saturating_sub(price))?;
    if left < price {
        return Err(Trap::OutOfFuel.into());
    }
    Ok(())
}
