//! The import `events`.

use super::super::guest::Guest;
use super::bindings::portcullis::plugin::events as w;
use super::store::{Store, charge_with_bytes};
use super::types::{denial_to_guest, exhaustion_to_guest};
use crate::imports::{EventError, price};
use wasmtime::component::Linker;

pub(super) fn add_to_linker(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
    let mut events = linker.instance("portcullis:plugin/events@0.1.0")?;
    events.func_wrap("emit", |mut store: Store<'_>, (name, payload, dedupe_key): (String, String, Option<String>)| {
        let bytes = name.len() + payload.len() + dedupe_key.as_ref().map_or(0, String::len);
        charge_with_bytes(&mut store, price::CALL, bytes as u64)?;
        let imports = store.data_mut().imports()?;
        let span = imports.start_span("events.emit", bytes);
        let added = imports.events().emit(name, &payload, dedupe_key);
        Ok((span.finish_with(added, |_| 0).map_err(error_to_guest),))
    })
}

fn error_to_guest(error: EventError) -> w::EventError {
    match error {
        EventError::Denied(denial) => w::EventError::Denied(denial_to_guest(denial)),
        EventError::Invalid(reason) => w::EventError::Invalid(reason),
        EventError::Exhausted(exhaustion) => w::EventError::Exhausted(exhaustion_to_guest(exhaustion)),
    }
}
