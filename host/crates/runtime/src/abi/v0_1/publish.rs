//! The import `publish`.

use super::super::guest::Guest;
use super::bindings::portcullis::plugin::{publish as w, types as wt};
use super::store::{Store, charge_with_bytes};
use super::types::{denial_to_guest, exhaustion_to_guest, resource_body_from_guest, role_from_guest, roles_from_guest};
use crate::imports as h;
use crate::imports::price;
use std::time::Duration;
use wasmtime::component::Linker;

pub(super) fn add_to_linker(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
    let mut publish = linker.instance("portcullis:plugin/publish@0.1.0")?;
    publish.func_wrap(
        "put-resource",
        |mut store: Store<'_>, (path, body, attributes): (String, wt::ResourceBody, w::Attributes)| {
            let bytes = path.len() + attributes_size(&attributes) + body_size(&body);
            charge_with_bytes(&mut store, price::CALL, bytes as u64)?;
            let imports = store.data_mut().imports()?;
            let span = imports.start_span("publish.put-resource", bytes);
            let (body, attributes) = (resource_body_from_guest(body), attributes_from_guest(attributes));
            let uri = imports.publish().put_resource(&path, body, attributes);
            Ok((span.finish_with(uri, |uri| uri.len() as u64).map_err(error_to_guest),))
        },
    )?;
    publish.func_wrap("append-resource", |mut store: Store<'_>, (path, body): (String, wt::ResourceBody)| {
        let bytes = path.len() + body_size(&body);
        charge_with_bytes(&mut store, price::CALL, bytes as u64)?;
        let imports = store.data_mut().imports()?;
        let span = imports.start_span("publish.append-resource", bytes);
        let uri = imports.publish().append_resource(&path, resource_body_from_guest(body));
        Ok((span.finish_with(uri, |uri| uri.len() as u64).map_err(error_to_guest),))
    })?;
    publish.func_wrap("remove-resource", |mut store: Store<'_>, (path,): (String,)| {
        charge_with_bytes(&mut store, price::CALL, path.len() as u64)?;
        let imports = store.data_mut().imports()?;
        let span = imports.start_span("publish.remove-resource", path.len());
        let removed = imports.publish().remove_resource(&path);
        Ok((span.finish_with(removed, |()| 0).map_err(error_to_guest),))
    })?;
    publish.func_wrap("put-prompt", |mut store: Store<'_>, (prompt,): (w::PublishedPrompt,)| {
        let bytes = prompt_size(&prompt);
        charge_with_bytes(&mut store, price::CALL, bytes as u64)?;
        let imports = store.data_mut().imports()?;
        let span = imports.start_span("publish.put-prompt", bytes);
        let put = imports.publish().put_prompt(prompt_from_guest(prompt));
        Ok((span.finish_with(put, |()| 0).map_err(error_to_guest),))
    })?;
    publish.func_wrap("remove-prompt", |mut store: Store<'_>, (name,): (String,)| {
        charge_with_bytes(&mut store, price::CALL, name.len() as u64)?;
        let imports = store.data_mut().imports()?;
        let span = imports.start_span("publish.remove-prompt", name.len());
        let removed = imports.publish().remove_prompt(&name);
        Ok((span.finish_with(removed, |()| 0).map_err(error_to_guest),))
    })
}

fn body_size(body: &wt::ResourceBody) -> usize {
    match body {
        wt::ResourceBody::Text(text) => text.len(),
        wt::ResourceBody::Blob(bytes) => bytes.len(),
    }
}

fn attributes_size(attributes: &w::Attributes) -> usize {
    let texts = [&attributes.title, &attributes.description, &attributes.mime_type];
    texts.into_iter().flatten().map(String::len).sum()
}

fn prompt_size(prompt: &w::PublishedPrompt) -> usize {
    let texts: usize = [&prompt.title, &prompt.description].into_iter().flatten().map(String::len).sum();
    let arguments: usize = prompt.arguments.iter().map(String::len).sum();
    let messages: usize = prompt.messages.iter().map(|message| message.text.len()).sum();
    prompt.name.len() + texts + arguments + messages
}

fn attributes_from_guest(attributes: w::Attributes) -> h::ResourceAttributes {
    let w::Attributes { title, description, mime_type, audience, priority, ttl_ms } = attributes;
    let audience = roles_from_guest(&audience);
    let annotations = h::Annotations { audience, priority, last_modified: None };
    h::ResourceAttributes { title, description, mime_type, annotations, ttl: ttl_ms.map(Duration::from_millis) }
}

fn prompt_from_guest(prompt: w::PublishedPrompt) -> h::PublishedPrompt {
    let w::PublishedPrompt { name, title, description, arguments, messages, ttl_ms } = prompt;
    let messages = messages.into_iter().map(|message| (role_from_guest(message.role), message.text)).collect();
    h::PublishedPrompt { name, title, description, arguments, messages, ttl: ttl_ms.map(Duration::from_millis) }
}

fn error_to_guest(error: h::PublishError) -> w::PublishError {
    match error {
        h::PublishError::Denied(denial) => w::PublishError::Denied(denial_to_guest(denial)),
        h::PublishError::Invalid(reason) => w::PublishError::Invalid(reason),
        h::PublishError::Exhausted(exhaustion) => w::PublishError::Exhausted(exhaustion_to_guest(exhaustion)),
        h::PublishError::NotFound => w::PublishError::NotFound,
    }
}
