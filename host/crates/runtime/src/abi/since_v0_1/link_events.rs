//! `events`, linked.

use super::super::guest::Guest;
use super::bindings::portcullis::plugin::events as we;
use super::bindings::portcullis::plugin::types as w;
use super::convert::exhaustion_to_guest;
use super::link::{Store, charge};
use crate::imports::{EventError, price};
use wasmtime::component::Linker;

pub(super) fn add_to_linker(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
    let mut events = linker.instance("portcullis:plugin/events@0.1.0")?;
    events.func_wrap("emit", |mut store: Store<'_>, (name, payload, dedupe_key): (String, String, Option<String>)| {
        let bytes = name.len() + payload.len() + dedupe_key.as_ref().map_or(0, String::len);
        charge(&mut store, price::CALL + (bytes as u64).saturating_mul(price::BYTE))?;
        let call = store.data_mut().call()?;
        let doing = call.doing("events.emit", bytes);
        let added = call.events.emit(&call.context, name, &payload, dedupe_key);
        Ok((doing.gave(added, |_| 0).map_err(error_to_guest),))
    })
}

fn error_to_guest(error: EventError) -> we::EventError {
    match error {
        EventError::Denied(denial) => we::EventError::Denied(w::Denial {
            capability: denial.capability,
            target: denial.target,
            remedy: denial.remedy,
        }),
        EventError::Invalid(reason) => we::EventError::Invalid(reason),
        EventError::Exhausted(exhaustion) => we::EventError::Exhausted(exhaustion_to_guest(exhaustion)),
    }
}
