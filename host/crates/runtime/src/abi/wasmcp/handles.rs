//! Handles that a component lends to a function which takes any values.

use super::super::store::Store;
use wasmtime::component::{ResourceAny, Val};

/// Gives back all handles that were lent.
pub(super) async fn drop_handles(store: &mut Store<'_>, params: &[Val]) -> wasmtime::Result<()> {
    let mut handles = Vec::new();
    params.iter().for_each(|param| find_handles(param, &mut handles));
    for handle in handles {
        handle.resource_drop_async(&mut *store).await?;
    }
    Ok(())
}

/// Finds all handles, also those within a message or a context.
fn find_handles(value: &Val, found: &mut Vec<ResourceAny>) {
    match value {
        Val::Resource(handle) => found.push(*handle),
        // Most lists are bytes, which have no handles in them.
        Val::List(items) if matches!(items.first(), Some(Val::U8(_))) => {}
        Val::List(items) | Val::Tuple(items) => items.iter().for_each(|item| find_handles(item, found)),
        Val::Record(fields) => fields.iter().for_each(|(_, field)| find_handles(field, found)),
        Val::Variant(_, Some(value)) | Val::Option(Some(value)) | Val::Result(Ok(Some(value)) | Err(Some(value))) => {
            find_handles(value, found);
        }
        _ => {}
    }
}
