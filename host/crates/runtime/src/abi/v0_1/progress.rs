//! The import `progress`.

use super::super::guest::Guest;
use super::store::{Store, charge_with_bytes};
use crate::imports::{ProgressReport, price};
use wasmtime::component::Linker;

pub(super) fn add_to_linker(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
    let mut progress = linker.instance("portcullis:plugin/progress@0.1.0")?;
    progress.func_wrap("report", |mut store: Store<'_>, (done, total, message): (f64, Option<f64>, Option<String>)| {
        charge_with_bytes(&mut store, price::CALL, message.as_ref().map_or(0, String::len) as u64)?;
        let imports = store.data_mut().imports()?;
        imports.progress.report(ProgressReport { done, total, message }, imports.journal.is_replaying());
        Ok(())
    })
}
