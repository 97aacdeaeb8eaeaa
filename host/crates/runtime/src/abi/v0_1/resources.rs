//! The export `resources`.

use super::super::guest::Guest;
use super::bindings::exports::portcullis::plugin::resources as w;
use super::bindings::portcullis::plugin::types::CallContext;
use super::types::{annotations_from_guest, embedded_resource_from_guest, icon_from_guest, tool_error_from_guest};
use crate::imports as h;
use wasmtime::Store;
use wasmtime::component::Instance;

pub(super) async fn list_resources(
    export: &w::GuestIndices,
    store: &mut Store<Guest>,
    instance: &Instance,
) -> wasmtime::Result<Vec<h::ResourceInfo>> {
    let resources = export.load(&mut *store, instance)?.call_list_resources(store).await?;
    Ok(resources.into_iter().map(resource_from_guest).collect())
}

pub(super) async fn list_templates(
    export: &w::GuestIndices,
    store: &mut Store<Guest>,
    instance: &Instance,
) -> wasmtime::Result<Vec<h::ResourceTemplate>> {
    let templates = export.load(&mut *store, instance)?.call_list_templates(store).await?;
    Ok(templates.into_iter().map(template_from_guest).collect())
}

pub(super) async fn read_resource(
    export: &w::GuestIndices,
    store: &mut Store<Guest>,
    instance: &Instance,
    context: &CallContext,
    uri: &str,
) -> wasmtime::Result<Result<Vec<h::EmbeddedResource>, h::ReadError>> {
    let contents = export.load(&mut *store, instance)?.call_read_resource(store, context, uri).await?;
    Ok(match contents {
        Ok(contents) => Ok(contents.into_iter().map(embedded_resource_from_guest).collect()),
        Err(error) => Err(read_error_from_guest(error)),
    })
}

fn resource_from_guest(resource: w::ResourceInfo) -> h::ResourceInfo {
    h::ResourceInfo {
        uri: resource.uri,
        name: resource.name,
        title: resource.title,
        description: resource.description,
        mime_type: resource.mime_type,
        size: resource.size,
        annotations: resource.annotations.map(annotations_from_guest),
        icons: resource.icons.into_iter().map(icon_from_guest).collect(),
    }
}

fn template_from_guest(template: w::ResourceTemplate) -> h::ResourceTemplate {
    h::ResourceTemplate {
        uri_template: template.uri_template,
        name: template.name,
        title: template.title,
        description: template.description,
        mime_type: template.mime_type,
        annotations: template.annotations.map(annotations_from_guest),
        icons: template.icons.into_iter().map(icon_from_guest).collect(),
    }
}

fn read_error_from_guest(error: w::ReadError) -> h::ReadError {
    match error {
        w::ReadError::NotFound => h::ReadError::NotFound,
        w::ReadError::Failed(error) => h::ReadError::Failed(tool_error_from_guest(error)),
    }
}
