//! `publish`, linked.

use super::super::guest::Guest;
use super::bindings::portcullis::plugin::publish as wp;
use super::bindings::portcullis::plugin::types as w;
use super::convert::{exhaustion_to_guest, roles_from_guest};
use super::link::{Store, charge};
use crate::imports::{Annotations, Attributes, PublishError, PublishedPrompt, ResourceBody, Role, price};
use std::time::Duration;
use wasmtime::component::Linker;

pub(super) fn add_to_linker(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
    let mut publish = linker.instance("portcullis:plugin/publish@0.1.0")?;
    publish.func_wrap(
        "put-resource",
        |mut store: Store<'_>, (path, body, attributes): (String, w::ResourceBody, wp::Attributes)| {
            let words = [&attributes.title, &attributes.description, &attributes.mime_type];
            let words: usize = words.into_iter().flatten().map(String::len).sum();
            let given = path.len() + words + size(&body);
            pay(&mut store, given)?;
            let call = store.data_mut().call()?;
            let doing = call.doing("publish.put-resource", given);
            let put = call.publish.put_resource(&call.context, &path, body_of(body), attributes_of(attributes));
            Ok((doing.gave(put, |uri| uri.len() as u64).map_err(error_to_guest),))
        },
    )?;
    publish.func_wrap("append-resource", |mut store: Store<'_>, (path, body): (String, w::ResourceBody)| {
        let given = path.len() + size(&body);
        pay(&mut store, given)?;
        let call = store.data_mut().call()?;
        let doing = call.doing("publish.append-resource", given);
        let put = call.publish.append_resource(&call.context, &path, body_of(body));
        Ok((doing.gave(put, |uri| uri.len() as u64).map_err(error_to_guest),))
    })?;
    publish.func_wrap("remove-resource", |mut store: Store<'_>, (path,): (String,)| {
        pay(&mut store, path.len())?;
        let call = store.data_mut().call()?;
        let doing = call.doing("publish.remove-resource", path.len());
        let removed = call.publish.remove_resource(&call.context, &path);
        Ok((doing.gave(removed, |()| 0).map_err(error_to_guest),))
    })?;
    publish.func_wrap("put-prompt", |mut store: Store<'_>, (prompt,): (wp::PublishedPrompt,)| {
        let words: usize = [&prompt.title, &prompt.description].into_iter().flatten().map(String::len).sum();
        let arguments: usize = prompt.arguments.iter().map(String::len).sum();
        let messages: usize = prompt.messages.iter().map(|message| message.text.len()).sum();
        let given = prompt.name.len() + words + arguments + messages;
        pay(&mut store, given)?;
        let call = store.data_mut().call()?;
        let doing = call.doing("publish.put-prompt", given);
        let put = call.publish.put_prompt(&call.context, prompt_of(prompt));
        Ok((doing.gave(put, |()| 0).map_err(error_to_guest),))
    })?;
    publish.func_wrap("remove-prompt", |mut store: Store<'_>, (name,): (String,)| {
        pay(&mut store, name.len())?;
        let call = store.data_mut().call()?;
        let doing = call.doing("publish.remove-prompt", name.len());
        let removed = call.publish.remove_prompt(&call.context, &name);
        Ok((doing.gave(removed, |()| 0).map_err(error_to_guest),))
    })
}

fn pay(store: &mut Store<'_>, bytes: usize) -> wasmtime::Result<()> {
    charge(store, price::CALL + (bytes as u64).saturating_mul(price::BYTE))
}

fn size(body: &w::ResourceBody) -> usize {
    match body {
        w::ResourceBody::Text(text) => text.len(),
        w::ResourceBody::Blob(bytes) => bytes.len(),
    }
}

fn body_of(body: w::ResourceBody) -> ResourceBody {
    match body {
        w::ResourceBody::Text(text) => ResourceBody::Text(text),
        w::ResourceBody::Blob(bytes) => ResourceBody::Blob(bytes),
    }
}

fn role_of(role: w::Role) -> Role {
    match role {
        w::Role::User => Role::User,
        w::Role::Assistant => Role::Assistant,
    }
}

fn attributes_of(attributes: wp::Attributes) -> Attributes {
    let wp::Attributes { title, description, mime_type, audience, priority, ttl_ms } = attributes;
    let audience = roles_from_guest(&audience);
    let annotations = Annotations { audience, priority, last_modified: None };
    Attributes { title, description, mime_type, annotations, ttl: ttl_ms.map(Duration::from_millis) }
}

fn prompt_of(prompt: wp::PublishedPrompt) -> PublishedPrompt {
    let wp::PublishedPrompt { name, title, description, arguments, messages, ttl_ms } = prompt;
    let messages = messages.into_iter().map(|message| (role_of(message.role), message.text)).collect();
    PublishedPrompt { name, title, description, arguments, messages, ttl: ttl_ms.map(Duration::from_millis) }
}

fn error_to_guest(error: PublishError) -> wp::PublishError {
    match error {
        PublishError::Denied(denial) => wp::PublishError::Denied(w::Denial {
            capability: denial.capability,
            target: denial.target,
            remedy: denial.remedy,
        }),
        PublishError::Invalid(reason) => wp::PublishError::Invalid(reason),
        PublishError::Exhausted(exhaustion) => wp::PublishError::Exhausted(exhaustion_to_guest(exhaustion)),
        PublishError::NotFound => wp::PublishError::NotFound,
    }
}
