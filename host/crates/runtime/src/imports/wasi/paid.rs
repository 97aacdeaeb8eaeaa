//! Functions of WASI with their price in fuel, which the guest pays before anything is done.

use crate::engine::charge;
use std::future::ready;
use wasmtime::StoreContextMut;

type Caller<'a, T> = StoreContextMut<'a, T>;
type Work<'a, R> = Box<dyn Future<Output = wasmtime::Result<R>> + Send + 'a>;

/// Charges this price before a function that may wait.
pub(super) fn paid<T, P, R, F>(
    price: u64,
    function: F,
) -> impl for<'a> Fn(Caller<'a, T>, P) -> Work<'a, R> + Send + Sync + 'static
where
    T: 'static,
    R: Send + 'static,
    F: for<'a> Fn(Caller<'a, T>, P) -> Work<'a, R> + Send + Sync + 'static,
{
    move |mut store, params| match charge(&mut store, price) {
        Ok(()) => function(store, params),
        Err(error) => Box::new(ready(Err(error))),
    }
}

/// Charges this price before a function that does not wait.
pub(super) fn paid_now<T, P, R, F>(
    price: u64,
    function: F,
) -> impl for<'a> Fn(Caller<'a, T>, P) -> wasmtime::Result<R> + Send + Sync + 'static
where
    T: 'static,
    F: for<'a> Fn(Caller<'a, T>, P) -> wasmtime::Result<R> + Send + Sync + 'static,
{
    move |mut store, params| {
        charge(&mut store, price)?;
        function(store, params)
    }
}
