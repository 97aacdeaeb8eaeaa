//! The import `output`.

use super::super::guest::Guest;
use super::bindings::portcullis::plugin::{output as w, types as wt};
use super::store::{Store, charge_with_bytes};
use super::types::{content_from_guest, exhaustion_to_guest};
use crate::imports as h;
use crate::imports::price;
use wasmtime::component::Linker;

pub(super) fn add_to_linker(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
    let mut output = linker.instance("portcullis:plugin/output@0.1.0")?;
    output.func_wrap_async("emit", |mut store: Store<'_>, (content,): (Vec<wt::Content>,)| {
        Box::new(async move {
            let content: Vec<_> = content.into_iter().map(content_from_guest).collect();
            let bytes: u64 = content.iter().map(h::Content::size).sum();
            charge_with_bytes(&mut store, price::CALL, bytes)?;
            let number = store.data_mut().imports()?.emit(content).await;
            Ok((number.map_err(error_to_guest),))
        })
    })
}

fn error_to_guest(error: h::OutputError) -> w::OutputError {
    match error {
        h::OutputError::Closed => w::OutputError::Closed,
        h::OutputError::Exhausted(exhaustion) => w::OutputError::Exhausted(exhaustion_to_guest(exhaustion)),
        h::OutputError::Invalid(reason) => w::OutputError::Invalid(reason),
    }
}
