//! The import `checkpoint`.

use super::super::guest::Guest;
use super::bindings::portcullis::plugin::checkpoint as w;
use super::store::{Store, charge, charge_with_bytes};
use crate::engine::Supervised as _;
use crate::imports::{CheckpointError, HttpHost as _, Restored, price};
use wasmtime::component::Linker;

pub(super) fn add_to_linker(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
    let mut checkpoint = linker.instance("portcullis:plugin/checkpoint@0.1.0")?;
    checkpoint.func_wrap_async("restored", |mut store: Store<'_>, (): ()| {
        Box::new(async move {
            charge(&mut store, price::CALL)?;
            let Restored { state, metered } = store.data_mut().imports()?.restored().await;
            store.data_mut().hooks().restored();
            match metered {
                // The earlier run has paid.
                Some(earlier) => {
                    if let Some(left) = store.data_mut().supervision().catch_up(&earlier) {
                        store.set_fuel(left)?;
                    }
                }
                None => charge_with_bytes(&mut store, 0, state.as_ref().map_or(0, |state| state.len() as u64))?,
            }
            Ok((state,))
        })
    })?;
    checkpoint.func_wrap_async("save", |mut store: Store<'_>, (state,): (Vec<u8>,)| {
        Box::new(async move {
            let size = state.len();
            // What stays of the journal is written again, and so is the output.
            let imports = store.data_mut().imports()?;
            let written = imports.journal.recorded_bytes().saturating_add(imports.unsaved_output());
            charge_with_bytes(&mut store, price::KEEP, (size as u64).saturating_add(written))?;
            let left = store.get_fuel().ok();
            let guest = store.data_mut();
            let used = guest.supervision().used(left);
            let imports = guest.imports()?;
            let span = imports.start_span("checkpoint.save", size);
            let saved = span.finish_with(imports.save(state, used).await, |()| 0);
            if saved.is_ok() {
                guest.hooks().saved();
            }
            Ok((saved.map_err(error_to_guest),))
        })
    })
}

fn error_to_guest(error: CheckpointError) -> w::CheckpointError {
    match error {
        CheckpointError::NotOpened => w::CheckpointError::NotOpened,
        CheckpointError::TooLarge(limit) => w::CheckpointError::TooLarge(limit),
    }
}
