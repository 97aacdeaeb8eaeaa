//! What the imports and conversions share: their view of the Store, and the charge for host work.

use super::guest::Guest;
use crate::imports::price;
use wasmtime::StoreContextMut;

pub(super) use crate::engine::charge;

pub(super) type Store<'a> = StoreContextMut<'a, Guest>;

/// Takes fuel for host work on this many bytes.
pub(super) fn charge_with_bytes(store: &mut Store<'_>, price: u64, bytes: u64) -> wasmtime::Result<()> {
    charge(store, price.saturating_add(bytes.saturating_mul(price::BYTE)))
}
