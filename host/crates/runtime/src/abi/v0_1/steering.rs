//! The import `steering`.

use super::super::guest::Guest;
use super::bindings::portcullis::plugin::steering as w;
use super::store::{Store, charge};
use crate::imports::{Received, price};
use std::time::Duration;
use wasmtime::component::Linker;

pub(super) fn add_to_linker(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
    let mut steering = linker.instance("portcullis:plugin/steering@0.1.0")?;
    steering.func_wrap("next", |mut store: Store<'_>, (): ()| {
        charge(&mut store, price::CALL)?;
        Ok((store.data_mut().imports()?.next_steering(),))
    })?;
    steering.func_wrap_async("receive", |mut store: Store<'_>, (timeout,): (Option<u64>,)| {
        Box::new(async move {
            charge(&mut store, price::CALL)?;
            let timeout = timeout.map(Duration::from_millis);
            let received = store.data_mut().imports()?.receive_steering(timeout).await;
            Ok((match received {
                Received::Message(message) => w::Received::Message(message.text),
                Received::Ended => w::Received::Ended,
                Received::TimedOut => w::Received::TimedOut,
            },))
        })
    })
}
